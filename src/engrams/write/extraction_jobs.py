"""Jobs that extract statements from stored messages, planned with the write that stores them.

``plan_extraction`` decides by ``sessions.trigger`` when a job runs and which jobs merge. With
``find_own_extraction`` a caller who waits takes the job that it leased, and runs it at once.
``due_reason`` tells when gathered turns are due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engrams.core import Kind, Record, Scope
from engrams.extract.feedback_signals import detect_signals
from engrams.frozen_data import dataclass
from engrams.ports import EXTRACT, Job, JobLease, JobSpec
from engrams.settings import SessionSettings
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.write.extraction import ExtractionResult

NEVER = timedelta(days=36500)
"""Due time of a job that waits for the end of its session."""
GATHERING_TRIGGERS = ("batch", "end", "manual")
"""Values of ``sessions.trigger`` with which turns are gathered in one job."""
_SAID_KINDS = (Kind.TURN, Kind.EXCHANGE)
"""Kinds of the records of a conversation."""


@dataclass(frozen=True, slots=True)
class OwnExtraction:
    """Extraction job that the caller of a write leased, and runs itself at once.

    The job is stored with the messages. If its process dies first, the lease ends, and a worker
    takes the job over.
    """

    job: Job
    records: tuple[Record, ...]
    """The messages to learn from."""
    extraction: ExtractionResult | None = None
    """What was extracted from them before they were stored."""


def plan_extraction(
    records: Sequence[Record],
    learned_ids: list[str],
    deps: WriteDeps,
    *,
    lease: JobLease | None = None,
    quiet: float | None = None,
) -> JobSpec:
    """Plan the job that extracts from messages of one scope and session.

    ``learned_ids``: ids of those among the records that are extracted from. ``lease``: of the
    caller, who runs the job itself. ``quiet``: seconds without a new message before a model
    extracts (None: ``write.debounce_seconds`` in a conversation, and at once from what was given
    as a note or statement).
    """
    settings = deps.settings
    trigger = settings.sessions.trigger
    scope = records[0].scope
    session = records[0].session
    session_key = make_update_key(scope, session)
    payload: dict[str, Any] = {"scope": scope.key, "items": learned_ids}
    now = deps.clock()
    is_said = all(record.kind in _SAID_KINDS for record in records)
    if trigger in GATHERING_TRIGGERS and quiet is None and session and is_said:
        # The job itself checks whether it is due: it sees all gathered turns, of every process,
        # also after a crash.
        return JobSpec(
            EXTRACT,
            session_key,
            {**payload, "trigger": trigger},
            now if trigger == "batch" else now + NEVER,
            attempts=settings.jobs.max_attempts,
        )
    # A model extracts from a whole conversation; rules from each write, so their jobs are never
    # merged.
    single_key = f"{scope.key}|{learned_ids[0]}"
    if lease is not None:
        return JobSpec(
            EXTRACT, single_key, payload, attempts=settings.jobs.max_attempts, lease=lease
        )
    uses_model = deps.extracts_by_model
    signals = detect_signals(record.text for record in records) if uses_model else ()
    if signals:
        payload["signals"] = list(signals)
    job = JobSpec(
        kind=EXTRACT,
        key=session_key if uses_model else single_key,
        payload=payload,
        due=None,
        priority=int(bool(signals)),
        attempts=settings.jobs.max_attempts,
    )
    if uses_model and quiet is None and not is_said:
        # What was given as a statement or note is complete, so it waits for nothing. Its job is not
        # merged with a conversation's, nor with one of another kind: statements are only compared
        # with what is known where a job has no messages.
        return replace(job, key=f"{session_key}|{records[0].kind}")
    if trigger == "quiet" or (uses_model and (trigger != "turn" or quiet is not None)):
        wait = settings.write.debounce_seconds if quiet is None else quiet
        return replace(job, key=session_key, due=now + timedelta(seconds=wait), debounce=True)
    return job


def make_update_key(scope: Scope, session: str) -> str:
    """Return the key of a conversation's extraction job."""
    return f"{scope.key}|{session}"


def find_own_extraction(
    specs: Sequence[JobSpec],
    job_ids: Sequence[str],
    records: tuple[Record, ...],
    now: datetime,
    extraction: ExtractionResult | None = None,
) -> OwnExtraction | None:
    """Return the extraction that the caller of a write runs itself; None: there is none.

    ``job_ids``: the id of each job as the store returned it; empty where it made none.
    """
    for spec, job_id in zip(specs, job_ids, strict=True):
        if spec.lease is not None and job_id:
            job = Job(
                id=job_id,
                kind=spec.kind,
                key=spec.key,
                payload=spec.payload,
                state="running",
                attempt=1,
                due=now,
                priority=0,
                error="",
                lease=spec.lease.token,
                lease_until=spec.lease.until,
                created_at=now,
            )
            return OwnExtraction(job, records, extraction)
    return None


def due_reason(
    texts: Sequence[str],
    settings: SessionSettings,
    *,
    has_new_topic: bool = False,
    has_correction: bool = False,
    end: bool = False,
) -> str:
    """Return why gathered turns are due for extraction; empty: not yet.

    A correction of a value is due at once: until then the wrong one would be told. Without one the
    turns need ``min_chars`` characters; then ``batch_turns`` turns are enough, or a change of topic
    after ``topic_change_turns`` turns, or the session's end.
    """
    if has_correction:
        return "correction"
    if sum(len(text) for text in texts) < settings.min_chars:
        return ""
    if end:
        return "session end"
    if len(texts) >= settings.batch_turns:
        return f"{len(texts)} turns"
    return "topic change" if has_new_topic and len(texts) >= settings.topic_change_turns else ""
