"""Memory as files for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal, Protocol, TypeAlias

from engrams.core import Record, Scope
from engrams.frozen_data import dataclass

DREAM = "dream"
"""The kind of the job that dreams; its key is the owner's."""

DAILY = "daily"
"""The kind of the job that flushes later, for a caller that must not wait.

Payload: ``owner`` (a scope's key), ``items`` (ids of stored records), ``reason``. Only where
``vault.enabled`` is there anyone to do it.
"""

NOTE_PIECE = "note_file"
"""Metadata key of a record that is a piece of a note: it has no file of its own, and is made anew
from the note.
"""

CORE_PIECE = "core"
"""Category of the pieces of MEMORY.md."""

Reason: TypeAlias = Literal["trim", "overflow", "session end", "daily summary", "note"]
"""Reason for writing something down; it becomes the heading."""


@dataclass(frozen=True, slots=True)
class NoteFlushRequest:
    """Turns to append to a daily note, oldest first.

    ``day``: whose note they go into (None: today, UTC).
    """

    owner: Scope
    records: Sequence[Record]
    reason: Reason = "overflow"
    day: date | None = None


class DailyNoteWriter(Protocol):
    """Port that writes daily notes."""

    def flush(self, asked: NoteFlushRequest) -> bool:
        """Append turns to the owner's daily note.

        False: nothing to say, or said before.

        Waits for the chat model where one is set; falls back to rules when it fails.
        """
        ...


class MemoryFiles(Protocol):
    """Port of memory as Markdown files: write, sync, commit, watch.

    The part of a vault that an engine and its surfaces need.
    """

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

    def watch(self) -> None:
        """Follow edits made by hand, in a thread."""
        ...

    def unwatch(self) -> None: ...
