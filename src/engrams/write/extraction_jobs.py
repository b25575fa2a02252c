"""Jobs that extract statements from stored messages, planned with the write that stores them.

``ExtractionJobPlanner.plan`` decides by ``sessions.trigger`` when a job runs and which jobs merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from engrams.core import Kind, Record, Scope
from engrams.extract.feedback_signals import detect_signals
from engrams.ports import EXTRACT, Clock, Job, JobLease, JobSpec
from engrams.settings import Settings
from engrams.write.extraction_timing import GATHERS, NEVER


class ExtractionJobPlanner:
    """Plans extraction jobs as the settings of one engine ask."""

    def __init__(self, settings: Settings, clock: Clock, *, has_model: bool) -> None:
        """Set up the planner. ``has_model``: the engine has a chat model."""
        self._settings = settings
        self._clock = clock
        self._uses_model = has_model and settings.write.extract in ("auto", "llm")

    def plan(
        self,
        records: Sequence[Record],
        learn_ids: list[str],
        scope: Scope,
        lease: JobLease | None,
        quiet: float | None,
    ) -> JobSpec:
        """Build the job that extracts from messages of one session.

        ``learn_ids``: ids of those among the records that are extracted from. ``lease``: of the
        caller, who runs the job itself. ``quiet``: seconds without a new message before a model
        extracts (None: ``write.debounce_seconds``).
        """
        tries = self._settings.jobs.max_attempts
        trigger = self._settings.sessions.trigger
        payload: dict[str, Any] = {"scope": scope.key, "items": learn_ids}
        session_key = make_update_key(scope, records[0].session)
        now = self._clock()
        if (
            trigger in GATHERS
            and quiet is None
            and records[0].session
            and all(record.kind is not Kind.NOTE for record in records)
        ):
            # The job itself checks whether it is due: it sees all gathered turns, of every process,
            # also after a crash.
            return JobSpec(
                EXTRACT,
                session_key,
                {**payload, "trigger": trigger},
                now if trigger == "batch" else now + NEVER,
                attempts=tries,
            )
        # A model extracts from a whole conversation; rules from each write, so their jobs are never
        # merged.
        single_key = f"{scope.key}|{learn_ids[0]}"
        if lease is not None:
            return JobSpec(EXTRACT, single_key, payload, attempts=tries, lease=lease)
        signals = detect_signals(record.text for record in records) if self._uses_model else ()
        if signals:
            payload["signals"] = list(signals)
        if trigger == "quiet" or (self._uses_model and (trigger != "turn" or quiet is not None)):
            wait = self._settings.write.debounce_seconds if quiet is None else quiet
            return JobSpec(
                kind=EXTRACT,
                key=session_key,
                payload=payload,
                due=now + timedelta(seconds=wait),
                priority=int(bool(signals)),
                debounce=True,
                attempts=tries,
            )
        return JobSpec(
            kind=EXTRACT,
            key=session_key if self._uses_model else single_key,
            payload=payload,
            due=None,
            priority=int(bool(signals)),
            attempts=tries,
        )


def make_update_key(scope: Scope, session: str) -> str:
    """Return the key of a conversation's extraction job."""
    return f"{scope.key}|{session}"


def find_leased_job(specs: Sequence[JobSpec], job_ids: Sequence[str], now: datetime) -> Job | None:
    """Return the job that its caller runs at once, if any.

    ``job_ids``: the id of each job as the store returned it; empty where it made none.
    """
    for spec, job_id in zip(specs, job_ids, strict=True):
        if spec.lease is not None and job_id:
            return Job(
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
    return None
