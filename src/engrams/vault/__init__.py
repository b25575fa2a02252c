"""Memories as Markdown files that people read, edit and version.

``build.open`` puts a vault beside a store; ``MemoryEngine.vault`` is it, or None. ``DailyNoteWriter.flush(Flush(…)) -> bool`` appends to an
owner's daily note; a job of kind ``DAILY`` does the same later.
"""

from engrams.vault.dependencies import SyncReport as SyncReport
from engrams.vault.dependencies import VaultDeps as VaultDeps
from engrams.vault.dependencies import VaultEditCallbacks as VaultEditCallbacks
from engrams.vault.filechanges import ChangeCause as ChangeCause
from engrams.vault.storewrapper import VaultStore as VaultStore
from engrams.vault.vault import Vault as Vault
