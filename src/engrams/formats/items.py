"""What a file holds, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from engrams.types import Edge, HistoryEntry, Kind, Record, Turn


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """Something said, or a memory that another system had made of it.

    ``conversation`` names the conversation within the file (empty: the file has none). ``turn.external_id`` is never empty
    and is the same each time the file is read. A ``kind`` other than turn makes it an explicit memory; where the source
    knew them, ``subject``, ``predicate`` and ``object`` give its triple and ``tags`` its labels.
    """

    turn: Turn
    conversation: str = ""
    kind: Kind = Kind.TURN
    subject: str = ""
    predicate: str = ""
    object: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoredRecord:
    """A record of an earlier export, as it was, with its outgoing edges and its history (oldest first)."""

    record: Record
    edges: tuple[Edge, ...] = ()
    history: tuple[HistoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """An exported edge that starts at no record of the export: between tags or topics, for instance."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class UnreadablePiece:
    """A piece that could not be read; the rest of the file goes on. ``line`` counts from 1 (0: unknown)."""

    line: int
    message: str


ImportItem: TypeAlias = ParsedTurn | RestoredRecord | ExportedEdge
