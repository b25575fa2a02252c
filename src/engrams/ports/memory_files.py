"""The port of a vault: memory as Markdown files for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal, Protocol, TypeAlias

from engrams.core import Record, Scope
from engrams.frozen_data import dataclass

DREAM = "dream"
"""Kind of the job that moves lasting facts into MEMORY.md; its key is the owner's."""

DAILY = "daily"
"""Kind of the job that appends to a daily note, for a caller that must not wait.

Payload: ``owner`` (a scope's key), ``items`` (ids of stored records), ``reason``. It has a handler
only with ``vault.enabled``.
"""

NOTE_PIECE = "note_file"
"""Metadata key of a record that is a piece of a note; it has no file of its own.

It is made anew from the note.
"""

CORE_PIECE = "core"
"""Category of the pieces of MEMORY.md."""

NoteReason: TypeAlias = Literal["trim", "overflow", "session end", "daily summary", "note"]
"""Reason for an entry of a note; it becomes the entry's heading."""


@dataclass(frozen=True, slots=True)
class NoteFlushRequest:
    """Turns to append to a daily note."""

    owner: Scope
    records: Sequence[Record]
    """Oldest first."""
    reason: NoteReason = "overflow"
    day: date | None = None
    """Day whose note they go into. None: today, UTC."""


class DailyNoteWriter(Protocol):
    """Port that writes daily notes."""

    def flush(self, request: NoteFlushRequest) -> bool:
        """Append turns to the owner's daily note.

        False: they hold nothing new. Waits for the chat model where one is set, and falls back to
        rules when it fails.
        """
        ...


class MemoryFiles(Protocol):
    """The part of a vault that an engine needs."""

    def dream(self, owner: Scope, days: int, *, force: bool = False) -> bool:
        """Move lasting facts from recent notes into MEMORY.md.

        False: nothing new.
        """
        ...

    def write(self) -> object:
        """Bring the files up to date with the store."""
        ...

    def commit(self, message: str) -> object:
        """Commit the files to git, where it is on."""
        ...

    def begin_history(self) -> None:
        """Make the git repository where ``vault.git`` is on and there is none."""
        ...

    def watch(self) -> None:
        """Follow edits made by hand, in a thread."""
        ...

    def unwatch(self) -> None:
        """Stop following edits."""
        ...
