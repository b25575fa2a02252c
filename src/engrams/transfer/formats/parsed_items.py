"""Pieces that reading a file yields."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from engrams.core import Edge, HistoryEntry, Kind, Record, Turn
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """Hold a message, or a memory that another system made.

    ``conversation`` names the conversation within the file (empty: the file has none).
    ``turn.external_id`` is never empty and is the same each time the file is read. A ``kind`` other
    than turn makes it an explicit memory. ``place``: scope labels below the import's own, such as
    ``("agent", "planner")``; ``user``: whose it is, in a file that holds the memories of several.
    ``line``: from 1 (0: unknown).
    """

    turn: Turn
    conversation: str = ""
    kind: Kind = Kind.TURN
    place: tuple[str, ...] = ()
    user: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ExportedRecord:
    """Hold an exported record with outgoing edges and history, oldest first."""

    record: Record
    edges: tuple[Edge, ...] = ()
    history: tuple[HistoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """Hold an exported edge whose source is no exported record."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class UnreadablePiece:
    """Report an unreadable piece; ``line``: from 1 (0: unknown).

    ``broken``: the file is not what its format says; else one piece of it is odd.
    """

    line: int
    message: str
    broken: bool = False


ImportItem: TypeAlias = ParsedTurn | ExportedRecord | ExportedEdge
