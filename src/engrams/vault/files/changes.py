"""Types of changed files, and of what they ask of memory."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Edge, Record, Scope, Vector
from engrams.frozen_data import dataclass
from engrams.ports import RecordChange
from engrams.vault.files.folder_access import FileStat
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import VaultFileLocation

BY_HAND = "edited by hand"


@dataclass(frozen=True, slots=True)
class FileChangeCause:
    """Actor and reason of changed files; ``quiet``: write none again."""

    action: str = BY_HAND
    actor: str = "hand"
    reason: str = BY_HAND
    quiet: bool = False


@dataclass(slots=True)
class ChangedVaultFile:
    """File whose content differs from its last synchronisation."""

    path: str
    stat: FileStat
    hash: str
    entry: RecordFileContent
    place: VaultFileLocation
    row: FileStateRow | None
    data: bytes


@dataclass(slots=True)
class FileEditEffects:
    """Memory changes that one edited file causes.

    ``ripples``: changes of other memories that follow from it. ``relearn``: the memory with its new
    text, where that is to be learned from again.
    """

    found: ChangedVaultFile
    put: Record | None = None
    change: RecordChange | None = None
    vectors: tuple[Vector, ...] = ()
    add: tuple[Edge, ...] = ()
    drop: tuple[Edge, ...] = ()
    does: str = "change"
    version: int = 1
    scope: Scope | None = None
    exact: bool = False
    ripples: tuple[RecordChange, ...] = ()
    relearn: Record | None = None


def split_overlapping(
    edits: Sequence[FileEditEffects],
) -> tuple[list[FileEditEffects], list[FileEditEffects]]:
    """Split off edits that change what an earlier one changes.

    An example is a message that both quote: the later one starts from what the earlier one left.
    """
    own = {edit.change.id for edit in edits if edit.change}
    changed = set[str]()
    together = list[FileEditEffects]()
    alone = list[FileEditEffects]()
    for edit in edits:
        edit.ripples = tuple(ripple for ripple in edit.ripples if ripple.id not in own)
        ids = {ripple.id for ripple in edit.ripples}
        (alone if ids & changed else together).append(edit)
        changed |= ids
    return together, alone
