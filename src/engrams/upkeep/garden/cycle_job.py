"""Jobs of the garden: a due schedule entry asks for a cycle, and a cycle runs.

There is one waiting job of kind ``GARDEN`` for all owners, so that one cycle runs at a time. Its
payload is ``{"items": [[owner, why, jobs of the cycle, manual], …]}``; the queue joins the items of
those that ask, and what is left after a cycle is enqueued again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from engrams.core import Scope
from engrams.errors import ConflictError
from engrams.ports import GARDEN, WAKE, Job, JobSpec, WriteBatch
from engrams.upkeep.garden.cycle import GardenCycleRequest, GardenCycleRunner
from engrams.upkeep.garden.schedule import compute_pause, is_day_spent, make_wake_job
from engrams.upkeep.garden.state import GardenCycleReport, GardenState
from engrams.upkeep.garden.steps import ACTOR

_MAX_ATTEMPTS = 5
"""Attempts to store a report while others change the garden's state."""


def make_cycle_job(
    owner_key: str, why: str, jobs: tuple[str, ...] = (), *, manual: bool = False, priority: int = 0
) -> JobSpec:
    """Make the job that runs a cycle of one owner."""
    item = [owner_key, why, list(jobs), manual]
    return JobSpec(GARDEN, "", {"items": [item]}, priority=priority)


class GardenJobHandler:
    """Handler of the jobs ``WAKE`` and ``GARDEN``."""

    def __init__(self, cycles: GardenCycleRunner) -> None:
        self._cycles = cycles
        self._deps = cycles.deps
        self._section = cycles.deps.settings.garden

    def run_job(self, job: Job) -> None:
        if job.kind == WAKE:
            self._request_cycle(job)
        else:
            self._run_next_cycle(job)

    def _request_cycle(self, job: Job) -> None:
        """Turn a schedule entry that is due into a request for a cycle."""
        cycle_job = make_cycle_job(str(job.payload["scope"]), str(job.payload.get("why", "")))
        self._deps.store.commit(
            WriteBatch(ACTOR, "woken", self._deps.clock(), jobs=(cycle_job,), finish=(job.lease,))
        )

    def _run_next_cycle(self, job: Job) -> None:
        """Run one owner's cycle, manual ones first; enqueue the others again."""
        items = sorted(job.payload.get("items", ()), key=lambda item: not item[3])
        if not items:
            self._deps.store.finish(job.lease, self._deps.clock())
            return
        (owner_key, why, jobs, manual), *remaining = items
        owner = Scope.parse(owner_key)
        next_jobs = (JobSpec(GARDEN, "", {"items": remaining}),) if remaining else ()
        end = WriteBatch(ACTOR, "tended", self._deps.clock(), jobs=next_jobs, finish=(job.lease,))
        if not self._deps.settings.enabled:
            self._deps.store.commit(end)
            return
        report = self._cycles.run(
            GardenCycleRequest(
                owner=owner,
                why=why,
                job=job.id,
                jobs=tuple(jobs),
                manual=bool(manual),
                renew_lease=lambda: self._renew_lease(job),
            )
        )
        self._commit_end(owner, report, end)

    def _commit_end(self, owner: Scope, report: GardenCycleReport, end: WriteBatch) -> None:
        """Store the report with the end of the job and the next scheduled cycle."""
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            state, row = self._cycles.close_cycle(owner, report)
            next_wakes = self._make_next_wakes(owner, report, state)
            try:
                self._deps.store.commit(replace(end, states=(row,), jobs=(*end.jobs, *next_wakes)))
                return
            except ConflictError:
                # The state changed meanwhile: retry. Where the job was taken over, retries fail
                # too.
                if not attempts_left:
                    raise

    def _make_next_wakes(
        self, owner: Scope, report: GardenCycleReport, state: GardenState
    ) -> tuple[JobSpec, ...]:
        """Make the job of the next cycle, as the pause or the model asks."""
        now = self._deps.clock()
        if not self._section.enabled or state.paused:
            return ()
        if report.state == "paused":
            due = now + timedelta(minutes=self._section.quiet_minutes)
            return (make_wake_job(owner, "next", due, report.why),)
        tokens_left = self._cycles.count_tokens_left()
        is_spent = is_day_spent(tokens_left, self._section)
        if not (report.calls or report.state == "incomplete" or is_spent):
            # Without a model only learning, quiet or size begin a cycle.
            return ()
        minutes = compute_pause(report.next_minutes, tokens_left, state.failures, self._section)
        return (make_wake_job(owner, "next", now + timedelta(minutes=minutes), "to look again"),)

    def _renew_lease(self, job: Job) -> None:
        """Renew the lease. ConflictError: another worker has the job."""
        until = self._deps.clock() + timedelta(seconds=self._deps.settings.jobs.lease_seconds)
        if not self._deps.store.renew(job.lease, until):
            raise ConflictError(
                "The cycle was taken over by another worker.", hint="That worker continues it."
            )
