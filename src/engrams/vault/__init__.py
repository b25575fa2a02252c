"""Memories as Markdown files that people read, edit and version.

``engrams.open`` puts a vault beside a store; ``MemoryEngine.vault`` is it, or None. ``Vault``
(``vault``) is the entry, and ``VaultStore`` (``store_wrapper``) the store whose files follow its
writes. The rooms are ``files`` (memories), ``notes`` (daily notes and MEMORY.md), ``history`` (git)
and ``purge``.
"""

from engrams.vault.dependencies import VaultDeps, VaultEditCallbacks
from engrams.vault.files.changes import FileChangeCause
from engrams.vault.files.sync_report import VaultSyncReport
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
