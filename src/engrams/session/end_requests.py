"""Requests to end sessions: by a caller, by idleness, or by the end of this process.

Each enqueues a finalise job, one for each session however often it is asked for. What the job does
is in ``ending``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from engrams.core import Scope
from engrams.ports import FINALISE, Clock, Job, JobSpec, Store
from engrams.session.extraction_queue import JobRunner
from engrams.settings import Settings

_MAX_SESSIONS = 1000
"""Idle sessions whose end one sweep asks for."""
_MAX_JOBS = 10_000
_POLL_SECONDS = 0.05
"""Seconds between two looks at a job that another worker has."""


class SessionEndRequester:
    """Enqueues the ends of sessions, and runs them where somebody waits."""

    def __init__(self, store: Store, clock: Clock, settings: Settings, runner: JobRunner) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._runner = runner

    def request_end(self, owner: Scope, session: str, why: str) -> None:
        """Enqueue the end of a session for a worker."""
        self._enqueue(make_finalise_job(owner, session, why, self._settings))
        self._runner.wake()

    def run_end(self, owner: Scope, session: str, why: str, *, until_done: bool = False) -> None:
        """Run the end of a session here.

        ``until_done``: wait for it where another worker has the job, or where it is put off until
        the last turns are learned.
        """
        spec = make_finalise_job(owner, session, why, self._settings)
        self._runner.run_job(self._enqueue(spec))
        if not until_done:
            return
        while not self._runner.is_cut_off:
            job = self._find_job(spec)
            # What failed is tried again later, without a caller who waits.
            if job is None or job.error:
                return
            time.sleep(_POLL_SECONDS)
            self._runner.run_job(job.id)

    def request_ends(self, sessions: Iterable[tuple[Scope, str]]) -> tuple[str, ...]:
        """Enqueue the ends of this process's sessions; returns the jobs' ids."""
        specs = [
            make_finalise_job(scope.owner, session, "shutdown", self._settings)
            for scope, session in sessions
            if self._is_open(scope.owner, session)
        ]
        return tuple(self._store.enqueue(specs, self._clock())) if specs else ()

    def _enqueue(self, spec: JobSpec) -> str:
        (job_id,) = self._store.enqueue((spec,), self._clock())
        return job_id

    def _find_job(self, spec: JobSpec) -> Job | None:
        jobs = self._store.queue(("waiting", "running"), _MAX_JOBS)
        return next((job for job in jobs if (job.kind, job.key) == (spec.kind, spec.key)), None)

    def _is_open(self, owner: Scope, session: str) -> bool:
        row = self._store.load(owner, session)
        return row is not None and row.state != "closed"


class IdleSessionSweeper:
    """Sweeper of idle sessions; one read where nothing is idle."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings

    def sweep(self) -> int:
        """Enqueue the end of idle and interrupted sessions; returns how many.

        Dead finalise jobs stay in the dead-letter list and hold up no other session.
        """
        if not self._settings.enabled:
            return 0
        now = self._clock()
        idle_since = now - timedelta(minutes=self._settings.sessions.idle_minutes)
        rows = self._store.idle(idle_since, _MAX_SESSIONS)
        if not rows:
            return 0
        dead_keys = {
            job.key for job in self._store.queue(("dead",), _MAX_SESSIONS) if job.kind == FINALISE
        }
        specs = [make_finalise_job(row.scope.owner, row.id, "idle", self._settings) for row in rows]
        living_specs = [spec for spec in specs if spec.key not in dead_keys]
        self._store.enqueue(living_specs, now)
        return len(living_specs)


def make_finalise_job(owner: Scope, session: str, why: str, settings: Settings) -> JobSpec:
    """Make the job that ends a session. Its key is the session's: waiting ones are joined."""
    payload = {"owner": owner.key, "session": session, "why": why}
    return JobSpec(FINALISE, f"{owner.key}|{session}", payload, attempts=settings.jobs.max_attempts)
