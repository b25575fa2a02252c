"""Plan of a review, and the changes that carry it out or take it back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from engrams import prompts
from engrams.core import (
    MERGED,
    DerivedMemory,
    Edge,
    EdgeType,
    Evidence,
    Provenance,
    Record,
    Scope,
    Status,
)
from engrams.core.belief_basis import rank_authority
from engrams.core.ids import new_id
from engrams.core.statement_form import form_statement
from engrams.errors import ConflictError
from engrams.ports import NewRecord, RecordChange, WriteBatch

ACTOR = "review"
"""Actor of these changes, in the history of memories."""
MARK = "review"
"""Metadata key of reviewed facts: the review's id, for its undo."""

_MAX_EVIDENCE = 64
_MAX_REASON = 240


@dataclass(frozen=True, slots=True)
class PlannedFactRemoval:
    record: Record
    reason: str
    """By the model."""


@dataclass(frozen=True, slots=True)
class PlannedFactMerge:
    sources: tuple[Record, ...]
    text: str
    """The merged fact, by the model."""


@dataclass(frozen=True, slots=True)
class FactReviewPlan:
    """Planned removals and merges of one owner."""

    id: str
    owner: Scope
    removals: tuple[PlannedFactRemoval, ...] = ()
    merges: tuple[PlannedFactMerge, ...] = ()
    notes: tuple[str, ...] = ()
    """What is left out, and why."""

    @property
    def is_empty(self) -> bool:
        return not (self.removals or self.merges)


@dataclass(slots=True)
class FactReviewWrite:
    """Write of a plan while it is put together."""

    plan: FactReviewPlan
    now: datetime
    changes: list[RecordChange] = field(default_factory=list)
    puts: list[NewRecord] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    results: list[DerivedMemory] = field(default_factory=list)
    """What became of each fact, for the caller."""

    @classmethod
    def from_plan(cls, plan: FactReviewPlan, now: datetime) -> FactReviewWrite:
        write = cls(plan, now)
        for removal in plan.removals:
            write._add_removal(removal)
        for merge in plan.merges:
            write._add_merge(merge)
        return write

    def to_batch(self) -> WriteBatch:
        """Build the write, whose changes conflict where a fact has changed since the plan."""
        reasons = "; ".join(
            dict.fromkeys(removal.reason for removal in self.plan.removals if removal.reason)
        )
        return WriteBatch(
            actor=ACTOR,
            reason=reasons[:_MAX_REASON] or "merged",
            at=self.now,
            puts=tuple(self.puts),
            changes=tuple(self.changes),
            edges=tuple(self.edges),
        )

    def _add_removal(self, removal: PlannedFactRemoval) -> None:
        record = removal.record
        fields = {"status": Status.ARCHIVED, "meta": {**record.meta, MARK: self.plan.id}}
        self._add_change(record, fields, "review")
        self.results.append(
            DerivedMemory(
                id=record.id,
                kind=record.kind,
                text=record.text,
                verdict="remove",
                replaces=(),
                reason=removal.reason,
                shown=form_statement(record).brief,
            )
        )

    def _add_merge(self, merge: PlannedFactMerge) -> None:
        merged = build_merged(merge, self.plan.id, self.now)
        self.puts.append(NewRecord(merged))
        for source in merge.sources:
            fields = {
                "status": Status.SUPERSEDED,
                "superseded_by": merged.id,
                "meta": {**source.meta, MARK: self.plan.id},
            }
            self._add_change(source, fields, "merge")
            self.edges += [
                Edge(self.plan.owner, merged.id, source.id, edge_type)
                for edge_type in (EdgeType.SUPERSEDES, EdgeType.DERIVED_FROM)
            ]
        self.results.append(
            DerivedMemory(
                id=merged.id,
                kind=merged.kind,
                text=merged.text,
                verdict="refine",
                replaces=tuple(source.id for source in merge.sources),
                reason="merged",
                shown=form_statement(merged).brief,
            )
        )

    def _add_change(self, record: Record, fields: dict[str, Any], action: str) -> None:
        self.changes.append(
            RecordChange(
                owner=self.plan.owner,
                id=record.id,
                fields=fields,
                action=action,
                expect=record.version,
            )
        )


def build_merged(merge: PlannedFactMerge, plan_id: str, now: datetime) -> Record:
    """Build the merged fact, with the evidence and names of its sources.

    It is as trusted as the least trusted source, and speaks for whom that one speaks: no merge makes
    foreign words the user's. It is as important as the most important one. It
    holds since the earliest source did; where one has no beginning, it has none.
    """
    newest = max(merge.sources, key=lambda source: source.story_key)
    beginnings = [source.valid_from for source in merge.sources]
    source_quotes = [quote for source in merge.sources for quote in source.evidence]
    source_ids = [Evidence("", source.id) for source in merge.sources]
    valid_from = None
    if None not in beginnings:
        valid_from = min(moment for moment in beginnings if moment)
    least = min(merge.sources, key=rank_authority)
    return replace(
        newest,
        id=new_id(now),
        role=least.role,
        speaker=least.speaker,
        text=merge.text,
        external_id="",
        predicate="",
        object="",
        valid_from=valid_from,
        tags=tuple(dict.fromkeys(tag for source in merge.sources for tag in source.tags)),
        evidence=tuple(dict.fromkeys([*source_ids, *source_quotes]))[:_MAX_EVIDENCE],
        provenance=Provenance(
            least.provenance.channel, ACTOR, prompts.load("merge").hash, "merged"
        ),
        importance=max(source.importance for source in merge.sources),
        confidence=min(source.confidence for source in merge.sources),
        trust=min(source.trust for source in merge.sources),
        strength=max(source.strength for source in merge.sources),
        access_count=0,
        last_accessed=None,
        summary="",
        version=1,
        meta={MERGED: [source.id for source in merge.sources], MARK: plan_id},
    )


def build_undo(owner: Scope, reviewed: Sequence[Record]) -> tuple[RecordChange, ...]:
    """Build the changes that take a review back: merged facts go, the others come back.

    ConflictError: one of them changed since.
    """
    changes = []
    for record in reviewed:
        is_merge_result = (
            MERGED in record.meta and not record.superseded_by and record.status is Status.ACTIVE
        )
        fields: dict[str, Any]
        if is_merge_result:
            fields = {"status": Status.ARCHIVED, "meta": {**record.meta, MARK: ""}}
        elif record.status is not Status.ACTIVE:
            meta = {key: value for key, value in record.meta.items() if key != MARK}
            fields = {"status": Status.ACTIVE, "superseded_by": "", "meta": meta}
        else:
            raise ConflictError(
                f"The memory {record.id} was changed since.",
                hint="Fix it by hand: `engrams show` prints its history.",
            )
        changes.append(
            RecordChange(
                owner=owner, id=record.id, fields=fields, action="undo", expect=record.version
            )
        )
    return tuple(changes)
