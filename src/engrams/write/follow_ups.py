"""Jobs that follow from what was learned: summaries, reviews, retries, detection of changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engrams.core import ENDING, Record, Scope, conversation
from engrams.ports import CHANGES, EXTRACT, FINALISE, POLICY, REVIEW, Job, JobSpec
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.features import may_change
from engrams.write.change_detection.opposite_statements import may_contradict
from engrams.write.extraction import ExtractionResult
from engrams.write.reconcile import DigestResult
from engrams.write.summary_jobs import plan_summary
from engrams.write.write_deps import WriteDeps

_NEWS = frozenset({"add", "replace", "refine", "conflict"})
"""Verdicts on statements that a summary does not tell yet."""


def plan_follow_ups(
    job: Job, records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan the jobs that follow from what ``job`` learned from records."""
    if not records:
        return ()
    return (
        *_plan_summaries(records, digest, deps),
        *_plan_review(records, digest, deps),
        *_plan_lane_retry(job, records, digest, deps),
        *_plan_late_ends(records, digest, deps),
        *_plan_policy_review(records, digest, deps),
    )


def plan_change_detection(
    owner: Scope,
    extraction: ExtractionResult,
    deps: WriteDeps,
    late_digest: DigestResult | None = None,
) -> tuple[JobSpec, ...]:
    """Plan the job that looks for earlier statements that these messages end.

    A model that reconciles finds them itself. ``late_digest``: what was learned from messages that
    were stored before. What already ended one of them, or may, is looked at again: the statements
    learned from it only now are in the same doubt.
    """
    section = deps.settings.write
    if not section.changes.enabled or section.reconcile == "off":
        return ()
    record_ids: list[str] = []
    if not deps.reconciles_by_model:
        record_ids += [record.id for record, _ in extraction.by_record if _may_end_others(record)]
    if late_digest is not None:
        record_ids += _find_endings(owner, late_digest, deps)
    return _make_change_job(owner, record_ids, deps)


def plan_gathered_changes(records: Sequence[Record], deps: WriteDeps) -> tuple[JobSpec, ...]:
    """Plan the job that looks for what messages end that are learned from later, or never.

    Until then the earlier statement would be told as if it still held.
    """
    section = deps.settings.write
    if not section.changes.enabled or section.reconcile == "off" or deps.reconciles_by_model:
        return ()
    record_ids = [record.id for record in records if _may_end_others(record)]
    return _make_change_job(records[0].scope.owner, record_ids, deps)


def _may_end_others(record: Record) -> bool:
    """True for a message that may speak of a change, an end or the contrary of what was said."""
    return not record.meta.get("echo") and (
        may_change(record.text) or tells_end(record.text) or may_contradict(record.text)
    )


def _make_change_job(
    owner: Scope, record_ids: Sequence[str], deps: WriteDeps
) -> tuple[JobSpec, ...]:
    if not record_ids:
        return ()
    return (
        JobSpec(
            CHANGES,
            owner.key,
            {"scope": owner.key, "items": [*dict.fromkeys(record_ids)]},
            priority=-1,
            attempts=deps.settings.jobs.max_attempts,
        ),
    )


def _find_endings(owner: Scope, digest: DigestResult, deps: WriteDeps) -> list[str]:
    """Find the messages that end one from which something new was learned, or may end it."""
    source_ids = {
        record_id
        for record_id, derived in digest.derived_by_source.items()
        if any(statement.verdict in _NEWS for statement in derived)
    }
    if not source_ids:
        return []
    edges = deps.store.edges(owner, sorted(source_ids), ENDING)
    return sorted({edge.source for edge in edges if edge.target in source_ids})


def _plan_summaries(
    records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan the update of each conversation's summary by its new statements."""
    if deps.chat is None or not deps.settings.summary.enabled:
        return ()
    new_ids: dict[tuple[Scope, str], list[str]] = {}
    for record in records:
        key = conversation(record.scope, record.session)
        derived_ids = [
            derived.id
            for derived in digest.derived_by_source.get(record.id, ())
            if derived.verdict in _NEWS
        ]
        if derived_ids and key != (record.scope.owner, ""):
            new_ids.setdefault(key, []).extend(derived_ids)
    return tuple(
        plan_summary(scope, session, ids, deps) for (scope, session), ids in new_ids.items()
    )


def _plan_review(
    records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan the review of old facts, some time after something was learned."""
    section = deps.settings.review
    is_on = (section.stale or section.merge) and not section.confirm
    if deps.chat is None or not is_on or not digest.derived:
        return ()
    owner = records[0].scope.owner.key
    due = deps.clock() + timedelta(hours=section.delay_hours)
    attempts = deps.settings.jobs.max_attempts
    return (JobSpec(REVIEW, owner, {"owner": owner}, due, attempts=attempts),)


def _plan_lane_retry(
    job: Job, records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan another try of the lane of a model's extraction that failed."""
    if not digest.failed_lane:
        return ()
    payload = {
        "scope": job.payload["scope"],
        "items": [record.id for record in records],
        "lane": digest.failed_lane,
    }
    return (
        JobSpec(
            EXTRACT,
            f"{job.key}|{digest.failed_lane}",
            payload,
            deps.clock() + timedelta(seconds=deps.settings.jobs.backoff_seconds),
            attempts=deps.settings.jobs.max_attempts,
        ),
    )


def _plan_late_ends(
    records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan another end of each session that ended before its statements were held for it."""
    if not any(derived.verdict == "hold" for derived in digest.derived):
        return ()
    owner = records[0].scope.owner
    sessions = dict.fromkeys(record.session for record in records if record.session)
    rows = {session: deps.store.load(owner, session) for session in sessions}
    return tuple(
        JobSpec(
            FINALISE,
            f"{owner.key}|{session}",
            {"owner": owner.key, "session": session, "why": "late"},
            attempts=deps.settings.jobs.max_attempts,
        )
        for session, row in rows.items()
        if row is not None and row.state == "closed"
    )


def _plan_policy_review(
    records: Sequence[Record], digest: DigestResult, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan another question about the statements that a model did not decide on."""
    if deps.chat is None or not any(put.record.meta.get("review") for put in digest.batch.puts):
        return ()
    owner = records[0].scope.owner.key
    due = deps.clock() + timedelta(seconds=deps.settings.jobs.backoff_seconds)
    attempts = deps.settings.jobs.max_attempts
    return (JobSpec(POLICY, owner, {"owner": owner}, due, attempts=attempts),)
