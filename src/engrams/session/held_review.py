"""Review of held statements that a model has not judged yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import timedelta

from engrams.core import STATEMENT_KINDS, Edge, Record, Scope, Status
from engrams.errors import ModelError
from engrams.extract import by_model
from engrams.frozen_data import dataclass
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
from engrams.write.candidate_promotion import HeldCandidateCluster, promote_clusters, to_candidate
from engrams.write.dependencies import WriteDeps

_MOST = 1000
_AT_ONCE = 20


@dataclass(slots=True)
class HeldReviewResult:
    """Outcome of a review: what stays held, and what changes.

    ``ready``: ids to store at once. ``unjudged``: those that the model failed at, or was not asked
    about yet. ``dropped``: ids that it wants forgotten.
    """

    held: list[Record] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)
    unjudged: list[Record] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    changes: list[RecordChange] = field(default_factory=list)


class HeldStatementReviewer:
    """Asks a model about held statements that it has not judged."""

    def __init__(self, deps: WriteDeps) -> None:
        self._deps = deps
        self._store = deps.store
        self._chat = deps.chat
        self._clock = deps.clock
        self._settings = deps.settings

    def review(self, held: Sequence[Record]) -> HeldReviewResult:
        """Ask about the first 20 held statements; the others stay held."""
        result = HeldReviewResult()
        asked = 0
        for record in held:
            waits = bool(record.meta.get("review"))
            if waits and asked < _AT_ONCE:
                self._review_one(record, result)
                asked += 1
                continue
            result.held.append(record)
            if waits:
                result.unjudged.append(record)
        return result

    def run(self, job: Job) -> None:
        """Judge the next held statements; a further job takes the rest.

        ModelError: the model judged none of them; the job is tried again.
        """
        owner = Scope.parse(job.payload["owner"])
        mark = self._store.load_state(owner, LEARNED)
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            STATEMENT_KINDS,
            (Status.CANDIDATE,),
            limit=_MOST,
        )
        waiting = [
            record for record in self._store.find(query).records if record.meta.get("review")
        ]
        result = self.review(waiting)
        if waiting and len(result.unjudged) == len(waiting):
            raise ModelError(
                f"The model judged none of {min(len(waiting), _AT_ONCE)} statements.",
                hint="`engrams status` names the model; it is asked again by itself.",
                retryable=True,
            )
        changes = result.changes
        edges = tuple[Edge, ...]()
        if ready := [record for record in result.held if record.id in result.ready]:
            promoted = [(HeldCandidateCluster((record,)), "reviewed") for record in ready]
            batch = promote_clusters(promoted, ready, self._deps).to_batch("policy", "reviewed", {})
            changes = join_changes(changes, batch.changes)
            edges = batch.edges
        again = (self.make_job(owner, at_once=len(waiting) > _AT_ONCE),) if result.unjudged else ()
        self._store.commit(
            WriteBatch(
                "policy",
                "reviewed",
                self._clock(),
                changes=tuple(changes),
                edges=edges,
                jobs=again,
                finish=(job.lease,),
                states=(mark,),
            )
        )

    def make_job(self, owner: Scope, *, at_once: bool = False) -> JobSpec:
        """Return the job that asks again about an owner's statements."""
        later = self._clock() + timedelta(
            seconds=0 if at_once else self._settings.jobs.backoff_seconds
        )
        return JobSpec(
            POLICY,
            owner.key,
            {"owner": owner.key},
            later,
            attempts=self._settings.jobs.max_attempts,
        )

    def _review_one(self, record: Record, result: HeldReviewResult) -> None:
        candidate = to_candidate(record)
        sources = self._store.get(record.scope.owner, candidate.sources[:1])
        if self._chat is None or not sources:
            result.held.append(record)
            return
        (ruling,) = by_model.decide_by_model(
            sources[0], [candidate], self._chat, self._settings.write.min_confidence
        )[0]
        if ruling.awaits_review:
            result.held.append(record)
            result.unjudged.append(record)
        elif ruling.action == "drop":
            meta = {**record.meta, "was": "candidate", "dropped": ruling.reason}
            fields = {"status": Status.FORGOTTEN, "retired_at": self._clock(), "meta": meta}
            result.changes.append(
                RecordChange(
                    owner=record.scope.owner,
                    id=record.id,
                    fields=fields,
                    action="drop",
                    expect=record.version,
                )
            )
            result.dropped.append(record.id)
        else:
            if ruling.action == "commit_now":
                result.ready.add(record.id)
            meta = {key: value for key, value in record.meta.items() if key != "review"} | {
                "hold": ruling.action
            }
            result.held.append(replace(record, meta=meta))
            result.changes.append(
                RecordChange(
                    owner=record.scope.owner,
                    id=record.id,
                    fields={"meta": meta},
                    action="review",
                    expect=record.version,
                )
            )


def join_changes(
    first: Sequence[RecordChange], later: Sequence[RecordChange]
) -> list[RecordChange]:
    """Join two lists of changes; a record's later change holds its first."""
    done = {change.id for change in later}
    return [*(one for one in first if one.id not in done), *later]
