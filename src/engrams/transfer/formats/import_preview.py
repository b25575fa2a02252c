"""Preview of an import: its contents counted, nothing stored."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from engrams.core import Kind, StatedFields, Status
from engrams.frozen_data import dataclass
from engrams.transfer.formats.parsed_items import (
    ExportedEdge,
    ExportedRecord,
    ParsedTurn,
    UnreadablePiece,
)

_SAMPLES = 5
_SAMPLE = 200
"""Characters of a sample."""


@dataclass(slots=True)
class ImportPreview:
    """Counts of a file's contents.

    ``stored``: memories and messages in it; ``kinds`` counts them by kind, ``users`` by the users
    that the file names, ``scopes`` by conversation or place. ``history``: those of them that are
    not true any more. ``bad``: (line, reason) of what cannot be read. ``samples``: the beginnings
    of the first texts.
    """

    format: str = ""
    stored: int = 0
    history: int = 0
    edges: int = 0
    files: int = 0
    rejected: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    scopes: dict[str, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)

    def add(self, item: Any, now: datetime) -> None:
        """Count one piece."""
        match item:
            case UnreadablePiece():
                self.bad.append((item.line, item.message))
            case ExportedEdge():
                self.edges += 1
            case ExportedRecord():
                self.edges += len(item.edges)
                self._count(
                    item.record.kind, item.record.text, past=item.record.status is not Status.ACTIVE
                )
            case ParsedTurn():
                self._count(item.kind, item.turn.text, past=is_past(item.turn.stated, now))
                place = "/".join(item.place) or item.conversation or "-"
                self.scopes[place] = self.scopes.get(place, 0) + 1
                if item.user:
                    self.users[item.user] = self.users.get(item.user, 0) + 1

    def _count(self, kind: Kind, text: str, *, past: bool) -> None:
        self.stored += 1
        if len(self.samples) < _SAMPLES:
            self.samples.append(text[:_SAMPLE])
        self.history += past
        self.kinds[kind.value] = self.kinds.get(kind.value, 0) + 1


def is_past(stated: StatedFields, now: datetime) -> bool:
    """Tell whether a statement has ended, or was given up."""
    return stated.retired_at is not None or (stated.valid_to is not None and stated.valid_to <= now)
