"""Garden plans: steps that are shown, committed and undone."""

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
"""Kinds that the garden changes; turns stay as they are."""

Verb = Literal["merge", "archive", "doubt", "supersede", "link", "tag", "unlink"]


@dataclass(frozen=True, slots=True)
class GardenStep:
    """One change. ``ids``: its memories, the remaining one first; ``texts``: theirs."""

    job: str
    verb: Verb
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str
    changes: tuple[Change, ...] = ()
    edges: tuple[Edge, ...] = ()
    unlink: tuple[Edge, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"job": self.job, "verb": self.verb, "ids": list(self.ids), "texts": list(self.texts), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class StatementConflict:
    """Two conflicting statements. ``keep``: the one that rules would keep."""

    one: Record
    other: Record
    reason: str
    keep: str

    def to_dict(self) -> dict[str, Any]:
        sides = [{"id": each.id, "text": each.text, "at": each.recorded_at.isoformat()} for each in (self.one, self.other)]
        return {"one": sides[0], "other": sides[1], "reason": self.reason, "keep": self.keep}


@dataclass(frozen=True, slots=True)
class GardenPlan:
    """Planned steps of a cycle. ``notes``: what is left out, and why."""

    owner: Scope
    steps: tuple[GardenStep, ...] = ()
    conflicts: tuple[StatementConflict, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GardenScope:
    """Active statements of an owner, oldest first, as input of a job.

    ``vectors``: [records, dimension], zeros for none. ``links``: edges at any of them. ``settled``: pairs of ids with a decision.
    ``taken``: ids that a step already changes.
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
        """Return (index, record) of records that no step changes yet."""
        return [(place, record) for place, record in enumerate(self.records) if record.id not in self.taken]


def order_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def make_change(record: Record, fields: Mapping[str, Any], action: str) -> Change:
    return Change(record.scope.owner, record.id, fields, action, record.version)


def preview_texts(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the texts, cut to 200 characters."""
    return tuple(record.text if len(record.text) <= 200 else f"{record.text[:199]}…" for record in records)
