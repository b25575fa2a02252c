"""Memories as Markdown files that people read, edit and version.

``build.open`` puts a vault beside a store; ``MemoryEngine.vault`` is it, or None.
``DailyNoteWriter.flush(Flush(…)) -> bool`` appends to an owner's daily note; a job of kind
``DAILY`` does the same later.
"""

from engrams.vault.filechangetypes import FileChangeCause
from engrams.vault.storewrapper import VaultStore
from engrams.vault.vault import Vault
from engrams.vault.vaultdependencies import VaultDeps, VaultEditCallbacks, VaultSyncReport

__all__ = [
    "FileChangeCause",
    "Vault",
    "VaultDeps",
    "VaultEditCallbacks",
    "VaultStore",
    "VaultSyncReport",
]
