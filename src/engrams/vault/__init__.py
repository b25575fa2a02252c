"""Memories as Markdown files that people read, edit and version.

``engrams.open`` puts a vault beside a store; ``MemoryEngine.vault`` is it, or None.
``DailyNoteWriter.flush(Flush(…)) -> bool`` appends to an owner's daily note; a job of kind
``DAILY`` does the same later.
"""

from engrams.vault.dependencies import VaultDeps, VaultEditCallbacks, VaultSyncReport
from engrams.vault.files.changes import FileChangeCause
from engrams.vault.store_wrapper import VaultStore
from engrams.vault.vault import Vault

__all__ = [
    "FileChangeCause",
    "Vault",
    "VaultDeps",
    "VaultEditCallbacks",
    "VaultStore",
    "VaultSyncReport",
]
