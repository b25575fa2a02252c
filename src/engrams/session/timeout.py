"""Looks for sessions in which nobody spoke for long, and asks for their end."""

from __future__ import annotations

from datetime import timedelta

from engrams.ports import FINALISE, Clock, JobSpec, SessionRow, Store
from engrams.settings import Settings
from engrams.types import Scope

_MOST = 1000


def make_finalise_job(owner: Scope, session: str, why: str, settings: Settings) -> JobSpec:
    """The job that ends a session."""
    payload = {"owner": owner.key, "session": session, "why": why}
    return JobSpec(FINALISE, f"{owner.key}|{session}", payload, attempts=settings.jobs.max_attempts)


class IdleSweeper:
    """A look is one read where there is nothing to do."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store, self._clock, self._settings = store, clock, settings

    def sweep(self) -> int:
        """Ask for the end of every session that is over, and of those whose end was interrupted; how many. One that failed for good
        waits in the dead-letter list and holds up no other."""
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
