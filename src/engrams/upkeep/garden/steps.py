"""Input and output of a cycle's jobs: the statements they look at, and the steps they plan.

A job is a function from ``GardenJobInput`` to a list of ``PlannedGardenStep``; it reads and writes
nothing else. ``cycle`` loads the input and commits the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from engrams.core import Edge, Kind, Record, Scope
from engrams.ports import EmbedderCard, RecordChange
from engrams.settings import GardenSettings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

ACTOR = "garden"
"""Actor of these changes, in the history of memories."""

STATEMENTS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.NOTE,
    Kind.PROCEDURE,
    Kind.NEGATIVE,
    Kind.RULE,
    Kind.CORRECTION,
)
"""Kinds that the garden changes; turns stay as they are."""

StepVerb = Literal["merge", "archive", "doubt", "supersede", "link", "tag", "unlink"]

_PREVIEW_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PlannedGardenStep:
    """Planned change of a cycle: what happens to which memories, and why."""

    job: str
    verb: StepVerb
    ids: tuple[str, ...]
    """Its memories, the one that remains first."""
    texts: tuple[str, ...]
    """The beginning of each memory's text, for people."""
    reason: str
    changes: tuple[RecordChange, ...] = ()
    edges: tuple[Edge, ...] = ()
    """Links to add, or to add weight to."""
    unlink: tuple[Edge, ...] = ()
    """Links to remove."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "verb": self.verb,
            "ids": list(self.ids),
            "texts": list(self.texts),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class GardenJobInput:
    """Active statements of an owner, as every job of a cycle sees them."""

    owner: Scope
    now: datetime
    settings: GardenSettings
    card: EmbedderCard
    """Card of the model that made the vectors."""
    records: tuple[Record, ...]
    """Active statements, oldest first."""
    code_notes: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Id -> reason, of records that the code of their project contradicts."""
    vectors: Floats
    """Shape [records, dimension]; zeros for a record without a vector, no columns where the job
    compares no meaning.
    """
    links: tuple[Edge, ...] = ()
    """Links at any of the records."""
    settled: frozenset[tuple[str, str]] = frozenset()
    """Pairs of ids (ordered) whose conflict a person decided."""
    planned_ids: set[str] = field(default_factory=set)
    """Ids that a step changes already: a memory is in one step of a plan at most."""

    def iter_unplanned(self) -> Iterator[tuple[int, Record]]:
        """Yield (index, record) of records that no step changes yet."""
        for index, record in enumerate(self.records):
            if record.id not in self.planned_ids:
                yield index, record

    def list_learned(self, record: Record) -> list[Record]:
        """List the statements that were learned from a record alone; no step changes them yet."""
        return [
            learned
            for _, learned in self.iter_unplanned()
            if learned.evidence and {item.source for item in learned.evidence} == {record.id}
        ]


def order_pair(first_id: str, second_id: str) -> tuple[str, str]:
    """Order two ids, so that a pair has one spelling."""
    return (first_id, second_id) if first_id < second_id else (second_id, first_id)


def make_change(record: Record, fields: Mapping[str, Any], action: str) -> RecordChange:
    """Make a change that conflicts where the record has changed since it was read."""
    return RecordChange(
        owner=record.scope.owner, id=record.id, fields=fields, action=action, expect=record.version
    )


def preview_texts(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the texts, cut to 200 characters."""
    return tuple(
        record.text
        if len(record.text) <= _PREVIEW_CHARACTERS
        else f"{record.text[: _PREVIEW_CHARACTERS - 1]}…"
        for record in records
    )
