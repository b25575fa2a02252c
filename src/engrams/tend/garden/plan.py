"""What a cycle would change: steps that can be shown, carried out in one write, and taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from engrams.ports import Change
from engrams.settings import GardenSettings
from engrams.types import Edge, Kind, Record, Scope

if TYPE_CHECKING:
    from engrams.ports.search import Floats

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.NOTE, Kind.PROCEDURE, Kind.NEGATIVE, Kind.RULE, Kind.CORRECTION)
"""What is tended. What was said stays as it was said."""

Verb = Literal["merge", "archive", "doubt", "supersede", "link", "tag", "unlink"]


@dataclass(frozen=True, slots=True)
class GardenStep:
    """One thing to do. ``ids``: the memories it is about, the one that stays first; ``texts``: theirs, for people."""

    job: str
    verb: Verb
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str
    changes: tuple[Change, ...] = ()
    edges: tuple[Edge, ...] = ()
    unlink: tuple[Edge, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"job": self.job, "verb": self.verb, "ids": list(self.ids), "texts": list(self.texts), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class StatementConflict:
    """Two statements that cannot both be so. ``keep``: the one that would hold if nobody decided."""

    one: Record
    other: Record
    reason: str
    keep: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        sides = [{"id": each.id, "text": each.text, "at": each.recorded_at.isoformat()} for each in (self.one, self.other)]
        return {"one": sides[0], "other": sides[1], "reason": self.reason, "keep": self.keep}


@dataclass(frozen=True, slots=True)
class GardenPlan:
    """What a cycle would do now. ``notes``: what it would leave, and why."""

    owner: Scope
    steps: tuple[GardenStep, ...] = ()
    conflicts: tuple[StatementConflict, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GardenScope:
    """What a job looks at: an owner's active statements, oldest first, and their vectors [records, dimension] (zeros: none).

    ``links``: edges at any of them. ``settled``: pairs of ids that somebody has decided about.
    """

    owner: Scope
    now: datetime
    settings: GardenSettings
    records: tuple[Record, ...]
    vectors: Floats
    links: tuple[Edge, ...] = ()
    settled: frozenset[tuple[str, str]] = frozenset()
    taken: set[str] = field(default_factory=set)

    def untouched(self) -> list[tuple[int, Record]]:
        """Those that no step has changed yet, with their places."""
        return [(place, record) for place, record in enumerate(self.records) if record.id not in self.taken]


def order_pair(one: str, other: str) -> tuple[str, str]:
    """Two ids, whichever comes first."""
    return (one, other) if one < other else (other, one)


def make_change(record: Record, fields: Mapping[str, Any], action: str) -> Change:
    """A change of the record as it was seen."""
    return Change(record.scope.owner, record.id, fields, action, record.version)


def preview_texts(records: Sequence[Record]) -> tuple[str, ...]:
    """Their texts, as far as a line goes."""
    return tuple(record.text if len(record.text) <= 200 else f"{record.text[:199]}…" for record in records)
