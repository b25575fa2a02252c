"""Review of held statements that a model has not judged yet.

It happens at a session's end for the first twenty, and in a job of its own for what the model
failed at or was not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from engrams.core import STATEMENT_KINDS, Edge, Record, Scope, Status
from engrams.errors import ModelError
from engrams.extract import by_model
from engrams.ports import (
    LEARNED,
    POLICY,
    Job,
    JobSpec,
    RecordChange,
    RecordQuery,
    ScopeReach,
    WriteBatch,
)
from engrams.write.held_promotion_rules import HeldCandidateCluster, promote_clusters, to_candidate
from engrams.write.write_deps import WriteDeps

_MAX_HELD = 1000
_MAX_ASKED = 20
"""Statements that one review asks about: each costs an answer of the model."""


@dataclass(slots=True)
class HeldReviewResult:
    """Outcome of a review."""

    still_held: list[Record] = field(default_factory=list)
    """Statements that stay held."""
    ready: set[str] = field(default_factory=set)
    """Ids of those among them to store at once."""
    unjudged: list[Record] = field(default_factory=list)
    """Those that the model failed at, or was not asked about yet."""
    dropped: list[str] = field(default_factory=list)
    """Ids of statements that the model wants forgotten."""
    changes: list[RecordChange] = field(default_factory=list)


class HeldStatementReviewer:
    """Asks a model about held statements that it has not judged."""

    def __init__(self, deps: WriteDeps) -> None:
        self._deps = deps
        self._store = deps.store
        self._chat = deps.chat
        self._clock = deps.clock
        self._settings = deps.settings

    def review(self, statements: Sequence[Record]) -> HeldReviewResult:
        """Ask about the first 20 held statements; the others stay held."""
        result = HeldReviewResult()
        asked_count = 0
        for record in statements:
            awaits_review = bool(record.meta.get("review"))
            if awaits_review and asked_count < _MAX_ASKED:
                self._review_statement(record, result)
                asked_count += 1
                continue
            result.still_held.append(record)
            if awaits_review:
                result.unjudged.append(record)
        return result

    def run_job(self, job: Job) -> None:
        """Judge the next held statements; a further job takes the rest.

        ModelError: the model judged none of them; the job is tried again.
        """
        owner = Scope.parse(job.payload["owner"])
        # Loaded first and written back: an extraction in between makes this review conflict.
        learned_state = self._store.load_state(owner, LEARNED)
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            STATEMENT_KINDS,
            (Status.CANDIDATE,),
            limit=_MAX_HELD,
        )
        waiting = [
            record for record in self._store.find(query).records if record.meta.get("review")
        ]
        result = self.review(waiting)
        if waiting and len(result.unjudged) == len(waiting):
            raise ModelError(
                f"The model judged none of {min(len(waiting), _MAX_ASKED)} statements.",
                hint="`engrams status` names the model; engrams asks it again automatically.",
                retryable=True,
            )
        changes = result.changes
        edges = tuple[Edge, ...]()
        next_jobs = tuple[JobSpec, ...]()
        ready = [record for record in result.still_held if record.id in result.ready]
        if ready:
            promoted = [(HeldCandidateCluster((record,)), "reviewed") for record in ready]
            batch = promote_clusters(promoted, ready, self._deps).to_batch("policy", "reviewed", {})
            changes = join_changes(changes, batch.changes)
            edges = batch.edges
            next_jobs = batch.jobs
        if result.unjudged:
            next_jobs += (self.make_job(owner, at_once=len(waiting) > _MAX_ASKED),)
        self._store.commit(
            WriteBatch(
                "policy",
                "reviewed",
                self._clock(),
                changes=tuple(changes),
                edges=edges,
                jobs=next_jobs,
                finish=(job.lease,),
                states=(learned_state,),
            )
        )

    def make_job(self, owner: Scope, *, at_once: bool = False) -> JobSpec:
        """Make the job that asks again about an owner's statements."""
        delay = 0.0 if at_once else self._settings.jobs.backoff_seconds
        return JobSpec(
            POLICY,
            owner.key,
            {"owner": owner.key},
            self._clock() + timedelta(seconds=delay),
            attempts=self._settings.jobs.max_attempts,
        )

    def _review_statement(self, record: Record, result: HeldReviewResult) -> None:
        """Ask about one statement and add the ruling to the result."""
        candidate = to_candidate(record)
        sources = self._store.get(record.scope.owner, candidate.sources[:1])
        if self._chat is None or not sources:
            result.still_held.append(record)
            return
        rulings, _ = by_model.decide_by_model(
            sources[0],
            [candidate],
            self._chat,
            self._settings.write.min_confidence,
            self._settings.write.hold_below,
        )
        ruling = rulings[0]
        if ruling.awaits_review:
            result.still_held.append(record)
            result.unjudged.append(record)
            return
        if ruling.action == "drop":
            meta = {**record.meta, "was": "candidate", "dropped": ruling.reason}
            fields = {"status": Status.FORGOTTEN, "retired_at": self._clock(), "meta": meta}
            result.changes.append(_make_change(record, fields, "drop"))
            result.dropped.append(record.id)
            return
        if ruling.action == "commit_now":
            result.ready.add(record.id)
        meta = {key: value for key, value in record.meta.items() if key != "review"}
        meta["hold"] = ruling.action
        result.still_held.append(replace(record, meta=meta))
        result.changes.append(_make_change(record, {"meta": meta}, "review"))


def join_changes(
    first: Sequence[RecordChange], later: Sequence[RecordChange]
) -> list[RecordChange]:
    """Join two lists of changes; a record's later change holds its first."""
    later_ids = {change.id for change in later}
    return [*(change for change in first if change.id not in later_ids), *later]


def _make_change(record: Record, fields: Mapping[str, Any], action: str) -> RecordChange:
    return RecordChange(
        owner=record.scope.owner,
        id=record.id,
        fields=fields,
        action=action,
        expect=record.version,
    )
