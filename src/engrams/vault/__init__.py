"""Memories as Markdown files that people read, edit and version.

``build.open`` puts a vault beside a store; ``MemoryEngine.vault`` is it, or None. ``DailyNoteWriter.flush(Flush(…)) -> bool`` appends to an
owner's daily note; a job of kind ``DAILY`` does the same later.
"""

from engrams.vault.filechangetypes import FileChangeCause as FileChangeCause
from engrams.vault.storewrapper import VaultStore as VaultStore
from engrams.vault.vault import Vault as Vault
from engrams.vault.vaultdependencies import VaultDeps as VaultDeps
from engrams.vault.vaultdependencies import VaultEditCallbacks as VaultEditCallbacks
from engrams.vault.vaultdependencies import VaultSyncReport as VaultSyncReport
