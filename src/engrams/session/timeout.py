"""Timeout of sessions: finds idle ones and enqueues their end."""

from __future__ import annotations

from datetime import timedelta

from engrams.ports import FINALISE, Clock, JobSpec, SessionRow, Store
from engrams.settings import Settings
from engrams.types import Scope

_MOST = 1000


def make_finalise_job(owner: Scope, session: str, why: str, settings: Settings) -> JobSpec:
    payload = {"owner": owner.key, "session": session, "why": why}
    return JobSpec(FINALISE, f"{owner.key}|{session}", payload, attempts=settings.jobs.max_attempts)


class IdleSweeper:
    """Sweeper of idle sessions; one read where nothing is idle."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store, self._clock, self._settings = store, clock, settings

    def sweep(self) -> int:
        """Enqueue the end of idle and interrupted sessions; returns how many.

        Dead finalise jobs stay in the dead-letter list and hold up no other session.
        """
        if not self._settings.enabled:
            return 0
        now = self._clock()
        rows = self._store.idle(now - timedelta(minutes=self._settings.sessions.idle_minutes), _MOST)
        if not rows:
            return 0
        dead = {job.key for job in self._store.queue(("dead",), _MOST) if job.kind == FINALISE}
        specs = [spec for row in rows if (spec := self._spec(row)).key not in dead]
        self._store.enqueue(specs, now)
        return len(specs)

    def _spec(self, row: SessionRow) -> JobSpec:
        return make_finalise_job(row.scope.owner, row.id, "idle", self._settings)
