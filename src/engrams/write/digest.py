"""Learning from messages: extract, decide, reconcile, and commit it all in one transaction.

``learn`` is what an extraction job does with messages that are stored. ``learn_ahead`` does the
same by rules for messages that are about to be stored, so that both take one transaction.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from datetime import timedelta
from typing import Any

from engrams.core import Json, Kind, Meta, Record, Scope, StageDecision, Status
from engrams.errors import ConflictError, NotFoundError
from engrams.extract.by_model import AnswerCachingChat
from engrams.extract.by_rules import RuleStatements
from engrams.frozen_data import dataclass, replace
from engrams.ports import (
    KEPT,
    LEARNED,
    Job,
    JobSpec,
    RecordChange,
    RecordQuery,
    ScopeReach,
)
from engrams.write.extraction import ExtractionOptions, ExtractionResult, extract_candidates
from engrams.write.follow_ups import plan_change_detection, plan_follow_ups
from engrams.write.reconcile import DigestResult, make_empty_result, reconcile_extraction
from engrams.write.source_checks import find_changed
from engrams.write.write_deps import WriteDeps

_log = logging.getLogger(__name__)

_MAX_GAPS = 20
_TRIES = 20
"""Attempts to reconcile while other jobs change the same owner's memory."""
_MISTAKES = frozenset({"drop", "skip", "repair", "failed"})
"""Verdicts that tell of a model's mistake."""


@dataclass(frozen=True, slots=True)
class LearnedAhead:
    """Result of learning from messages before they are stored."""

    extraction: ExtractionResult
    digest: DigestResult | None
    """To be stored with the messages; None: it takes a job of its own."""


@dataclass(frozen=True, slots=True)
class LearningTask:
    """Stored messages to learn from, under a job."""

    job: Job
    records: tuple[Record, ...]
    """Messages of one owner."""
    remaining_ids: tuple[str, ...] = ()
    """Messages of the job that are left to do after these; without any, the job ends."""
    saved_answers: Meta | None = None
    """Answers of a model about these records, from an earlier run of the job."""
    extraction: ExtractionResult | None = None
    """What was extracted from the records before they were stored."""
    precomputed: RuleStatements = field(default_factory=dict)
    """What rules extract from the records, as far as it was computed before."""
    jobs: tuple[JobSpec, ...] = ()
    """Further jobs to make with what is learned."""


def learn_ahead(records: Sequence[Record], deps: WriteDeps) -> LearnedAhead | None:
    """Learn by rules from messages that are about to be stored.

    What follows from most messages can be stored with them, so that they need no job. None: they
    do, because a model learns, or upkeep is to be woken, or learning fails.
    """
    if not deps.learns_at_once or deps.settings.garden.enabled:
        return None
    try:
        extraction = extract_candidates(records, deps, ExtractionOptions(is_fresh=True))
        return LearnedAhead(extraction, _reconcile_ahead(records[0].scope.owner, extraction, deps))
    except Exception:  # noqa: BLE001 - not swallowed: the job fails of the same, once the messages are safe
        return None


def learn(task: LearningTask, deps: WriteDeps) -> DigestResult:
    """Learn from stored messages, and commit what follows with the end of their job.

    No lock is held across calls of a model. An owner's memory is changed by one job after the
    other, across processes: a job that another one overtook reconciles again.
    """
    owner = Scope.parse(task.job.payload["scope"]).owner
    deps = _with_saved_answers(task, deps)
    extraction = task.extraction or extract_candidates(
        task.records, deps, _read_options(task, owner, deps)
    )
    for tries_left in reversed(range(_TRIES)):
        try:
            with _serialise(owner, deps):
                return _commit(task, owner, extraction, deps)
        except (ConflictError, NotFoundError):
            # Another job or a person changed this owner's memory: reconcile again, unless the
            # lease is lost.
            if not tries_left or not _renew_lease(task.job, deps):
                raise
    raise AssertionError("unreachable")


def strip_saved_answers(payload: Meta) -> dict[str, Json]:
    """Return a job's payload without the model's answers in it."""
    return {name: value for name, value in payload.items() if name != KEPT}


# --------------------------------------------------------------------------------------------------
# ahead


def _reconcile_ahead(
    owner: Scope, extraction: ExtractionResult, deps: WriteDeps
) -> DigestResult | None:
    """Reconcile candidates of messages that are not stored yet.

    None: the result depends on these messages, or on the sessions in which they were said.
    """
    jobs = plan_change_detection(owner, extraction, deps)
    if not extraction.has_candidates:
        empty = make_empty_result(extraction, deps)
        return replace(empty, batch=replace(empty.batch, jobs=jobs))
    if deps.settings.write.contradiction_cosine:
        return None
    # Read before the memory it stands for: if a job learns in between, the commit conflicts.
    learned_mark = deps.store.load_state(owner, LEARNED)
    digest = reconcile_extraction(extraction, deps)
    if any(_needs_stored_source(put.record) for put in digest.batch.puts):
        return None
    batch = replace(
        digest.batch,
        jobs=(*digest.batch.jobs, *jobs),
        states=() if digest.is_empty else (learned_mark,),
    )
    return replace(digest, batch=batch)


def _needs_stored_source(record: Record) -> bool:
    """True for a held statement, and for one that supersedes the note it came from."""
    is_superseding_note = record.status is Status.SUPERSEDED and bool(record.meta.get("whole"))
    return record.status is Status.CANDIDATE or is_superseding_note


# --------------------------------------------------------------------------------------------------
# steps of a job


def _commit(
    task: LearningTask, owner: Scope, extraction: ExtractionResult, deps: WriteDeps
) -> DigestResult:
    """Reconcile with the memory as it is, and commit that with the progress of the job."""
    job = task.job
    # Read before the memory it stands for: if another job learns in between, the commit conflicts.
    learned_marks = (deps.store.load_state(owner, LEARNED),) if extraction.has_candidates else ()
    is_read_by_job = task.extraction is None
    source_checks: tuple[RecordChange, ...] = ()
    if extraction.has_candidates and (is_read_by_job or deps.chat is not None):
        extraction, source_checks = _drop_changed(owner, task.records, extraction, deps)
    is_patient = deps.chat is not None and job.attempt < deps.settings.jobs.max_attempts
    digest = reconcile_extraction(extraction, deps, is_patient=is_patient)
    payload = {**strip_saved_answers(job.payload), "items": list(task.remaining_ids)}
    deps.store.commit(
        replace(
            digest.batch,
            changes=(*digest.batch.changes, *source_checks),
            finish=() if task.remaining_ids else (job.lease,),
            progress=((job.lease, payload),) if task.remaining_ids else (),
            jobs=(
                *digest.batch.jobs,
                *plan_follow_ups(job, task.records, digest, deps),
                *task.jobs,
                *plan_change_detection(owner, extraction, deps, digest if is_read_by_job else None),
            ),
            states=() if digest.is_empty else learned_marks,
            repeatable=deps.chat is None,
        )
    )
    _count_mistakes(digest.decisions, deps)
    return digest


def _with_saved_answers(task: LearningTask, deps: WriteDeps) -> WriteDeps:
    """Return the dependencies with a model whose answers the job keeps until they are stored."""
    if deps.chat is None:
        return deps
    record_ids = [record.id for record in task.records]

    def save(answers: Mapping[str, Any]) -> None:
        payload = {
            **strip_saved_answers(task.job.payload),
            "items": [*record_ids, *task.remaining_ids],
            KEPT: {"items": record_ids, **answers},
        }
        if not deps.store.keep(task.job.lease, payload):
            raise ConflictError(
                "The job was taken over by another worker.", hint="That worker continues it."
            )

    return replace(deps, chat=AnswerCachingChat(deps.chat, task.saved_answers or {}, save))


def _read_options(task: LearningTask, owner: Scope, deps: WriteDeps) -> ExtractionOptions:
    """Return how the job asks to extract."""
    gaps: tuple[str, ...] = ()
    lane = ""
    if deps.chat is not None:
        lane = str(task.job.payload.get("lane", ""))
        if task.job.payload.get("end") and task.records:
            gaps = _load_gaps(owner, deps)
    return ExtractionOptions(gaps=gaps, lane=lane, precomputed=task.precomputed)


def _load_gaps(owner: Scope, deps: WriteDeps) -> tuple[str, ...]:
    """Load questions that memory could not answer."""
    query = RecordQuery(
        ScopeReach.of_owner(owner), (Kind.GAP,), (Status.CANDIDATE,), limit=_MAX_GAPS
    )
    return tuple(gap.text for gap in deps.store.find(query).records)


def _serialise(owner: Scope, deps: WriteDeps) -> AbstractContextManager[object]:
    """Hold the owner's lock where reconciling is brief: then a lock is cheaper than a retry."""
    card = deps.embedder.card
    embeds_here = card.inline or not card.dimension
    asks_model = deps.chat is not None and deps.settings.write.reconcile not in ("off", "rules")
    return deps.owner_locks.get(owner) if embeds_here and not asks_model else nullcontext()


def _drop_changed(
    owner: Scope, records: tuple[Record, ...], extraction: ExtractionResult, deps: WriteDeps
) -> tuple[ExtractionResult, tuple[RecordChange, ...]]:
    """Drop what was read in messages that were changed or forgotten meanwhile.

    Also returns checks that let a batch commit only while the others are as they are now.
    """
    changed_ids, checks = find_changed(owner, records, deps.store)
    by_record = tuple(
        (
            record,
            tuple(
                pair for pair in decided if changed_ids.isdisjoint((record.id, *pair[0].sources))
            ),
        )
        for record, decided in extraction.by_record
    )
    return replace(extraction, by_record=by_record), checks


def _renew_lease(job: Job, deps: WriteDeps) -> bool:
    """Renew the lease; False: another worker has the job."""
    until = deps.clock() + timedelta(seconds=deps.settings.jobs.lease_seconds)
    return deps.store.renew(job.lease, until)


def _count_mistakes(decisions: Sequence[StageDecision], deps: WriteDeps) -> None:
    """Count and log what a model got wrong, by reason and without any text."""
    if deps.chat is None:
        return
    counts = Counter(
        decision.reason.partition(":")[0]
        for decision in decisions
        if decision.stage in ("extract", "reconcile") and decision.verdict in _MISTAKES
    )
    if counts:
        deps.store.count_mistakes(deps.chat.name, counts)
        _log.warning(
            "answers of the model: %s",
            ", ".join(f"{number} × {reason}" for reason, number in counts.items()),
        )
