"""Types of changed files, and of what they change in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.core import Edge, Record, Scope, Vector
from engrams.ports import RecordChange
from engrams.vault.files.folder_access import FileStat
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import VaultFileLocation

BY_HAND = "edited by hand"

Outcome: TypeAlias = Literal["add", "change", "move", "forget", "restore", "none"]
"""What a file's edit does to its memory."""


@dataclass(frozen=True, slots=True)
class FileChangeCause:
    """Actor and reason of changed files, for the history."""

    action: str = BY_HAND
    actor: str = "hand"
    reason: str = BY_HAND
    quiet: bool = False
    """The files hold all of it already: write none again, and change no other memory."""


@dataclass(slots=True)
class ChangedVaultFile:
    """File whose content differs from its last synchronisation."""

    path: str
    stat: FileStat
    hash: str
    content: RecordFileContent
    location: VaultFileLocation
    row: FileStateRow | None
    """State of the file's memory as of the last synchronisation; None: not known (yet)."""
    data: bytes


@dataclass(slots=True)
class FileEditEffects:
    """Changes of memory that one edited file causes."""

    file: ChangedVaultFile
    outcome: Outcome = "change"
    new_record: Record | None = None
    """The memory to add; None: it is there."""
    change: RecordChange | None = None
    vectors: tuple[Vector, ...] = ()
    new_edges: tuple[Edge, ...] = ()
    old_edges: tuple[Edge, ...] = ()
    version: int = 1
    """Version of the memory once this is stored."""
    scope: Scope | None = None
    exact: bool = False
    """The file holds the new memory exactly as it is stored, so that it need not be written."""
    ripples: tuple[RecordChange, ...] = ()
    """Changes of other memories that follow from it."""
    relearn: Record | None = None
    """The memory with its new text, or that came back, where others are to learn of it again: of a
    message its statements, of a statement the summary of its conversation."""

    @property
    def record_id(self) -> str:
        if self.new_record is not None:
            return self.new_record.id
        return self.change.id if self.change is not None else ""


def split_overlapping(
    edits: Sequence[FileEditEffects],
) -> tuple[list[FileEditEffects], list[FileEditEffects]]:
    """Split off edits that change a memory which an earlier one changes.

    An example is a message that both quote: the later one starts from what the earlier one left.
    A memory that a person edited keeps the text of that edit: it leaves the ``ripples`` of the others.
    """
    edited_ids = {edit.change.id for edit in edits if edit.change}
    changed_ids = set[str]()
    together = list[FileEditEffects]()
    alone = list[FileEditEffects]()
    for edit in edits:
        edit.ripples = tuple(ripple for ripple in edit.ripples if ripple.id not in edited_ids)
        ripple_ids = {ripple.id for ripple in edit.ripples}
        (alone if ripple_ids & changed_ids else together).append(edit)
        changed_ids |= ripple_ids
    return together, alone
