"""Pieces of a file: what a reader yields and a writer takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TypeAlias

from engrams.core import STATEMENT_KINDS, Edge, EdgeType, HistoryEntry, Json, Kind, Record, Turn
from engrams.frozen_data import dataclass

TELLING_KINDS = (*STATEMENT_KINDS, Kind.NOTE)
"""Kinds that say something by themselves; the others are messages, and accounts of them."""


@dataclass(frozen=True, slots=True)
class ForeignLink:
    """A link with another memory of the same file."""

    target: str
    """``external_id`` of the other memory."""
    type: EdgeType
    weight: float = 1.0
    """0..1."""
    is_incoming: bool = False
    """True: it leads from that memory to this one."""


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """A message, or a memory that another system made."""

    turn: Turn
    """``turn.external_id`` is never empty, and is the same each time the file is read."""
    conversation: str = ""
    """Name of the conversation within the file. Empty: the file has none."""
    kind: Kind = Kind.TURN
    """Another kind than turn makes it an explicit memory, from which nothing is learned again."""
    scope_labels: tuple[str, ...] = ()
    """Scope labels below the import's own, kind before name, such as ``("agent", "planner")``."""
    user: str = ""
    """Whose it is, in a file that holds the memories of several users."""
    line: int = field(default=0, compare=False)
    """Line of the file, from 1. 0: unknown."""
    links: tuple[ForeignLink, ...] = ()
    """Links with other memories of the file."""

    def linked(self, links: Iterable[ForeignLink]) -> ParsedTurn:
        """Return the same piece with links."""
        return replace(self, links=tuple(links))


@dataclass(frozen=True, slots=True)
class ExportedRecord:
    """A record of this system's own export."""

    record: Record
    edges: tuple[Edge, ...] = ()
    """Outgoing edges."""
    history: tuple[HistoryEntry, ...] = ()
    """Changes, oldest first."""


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """An edge of this system's own export whose source is no exported record."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class UnreadablePiece:
    """A piece of a file that cannot be read."""

    line: int
    """Line of the file, from 1. 0: unknown."""
    message: str
    broken: bool = False
    """The file is not what its format says. False: one piece of a sound file is odd."""


ForeignPiece: TypeAlias = ParsedTurn | UnreadablePiece
"""Piece of another system's file."""
ExportPiece: TypeAlias = ExportedRecord | ExportedEdge | UnreadablePiece
"""Piece of this system's own export."""
Piece: TypeAlias = ParsedTurn | ExportedRecord | ExportedEdge | UnreadablePiece
TextLine: TypeAlias = tuple[int, str] | UnreadablePiece
"""Number and text of a line, without its end; or a line that is too long."""
JsonElement: TypeAlias = tuple[int, Json] | UnreadablePiece
"""Line and value of a JSON element; or the reason why it cannot be parsed."""
ExportLine: TypeAlias = tuple[str, int]
"""Text to write, with its line end, and the number of memories in it."""
