"""Door of the garden: plan, run, undo, decide and schedule cycles, reached as ``engine.garden``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from engrams.core import Record, Scope, ScopeInput
from engrams.core.ids import new_id
from engrams.errors import ConflictError, InputError, NotFoundError, RefusedError
from engrams.ports import GARDEN, Job
from engrams.settings import JOBS
from engrams.upkeep.garden.conflicts import StatementConflict, decide_conflict, find_conflicts
from engrams.upkeep.garden.cycle import GardenCycleRunner, GardenDeps, GardenPlan
from engrams.upkeep.garden.cycle_job import GardenJobHandler, make_cycle_job
from engrams.upkeep.garden.schedule import ScheduledGardenCycle, list_scheduled, make_wake_job
from engrams.upkeep.garden.state import GardenCycleReport, GardenState
from engrams.upkeep.garden.steps import order_pair
from engrams.upkeep.garden.undo import GardenCycleUndoResult, undo_cycle

Place: TypeAlias = ScopeInput

_DAY = timedelta(days=1)
_MAX_JOBS_SEARCHED = 1000
_POLL_SECONDS = 0.05
"""Pause between two looks for the end of a cycle that a worker took."""


class MemoryGarden:
    """Upkeep of all of an owner's memory, reached as ``engine.garden``. Thread safe.

    Any scope of an owner stands for the owner.
    """

    def __init__(self, deps: GardenDeps, run_queued_job: Callable[[str], Job | None]) -> None:
        """Set up the garden. ``run_queued_job``: runs the job with this id here, where it can."""
        self._deps = deps
        self._run_queued_job = run_queued_job
        self._cycles = GardenCycleRunner(deps)
        self._states = self._cycles.states
        self._section = deps.settings.garden
        self.run_job = GardenJobHandler(self._cycles).run_job
        """Handler of the jobs ``GARDEN`` and ``WAKE``."""

    # ----------------------------------------------------------------------------------------------
    # looking

    def plan(self, scope: Place, jobs: Sequence[str] = ()) -> GardenPlan:
        """Plan a cycle without changing anything. ``jobs``: their names (none: as configured)."""
        return self._cycles.plan(_find_owner(scope), _check_jobs(jobs))

    def conflicts(self, scope: Place) -> tuple[StatementConflict, ...]:
        """Return conflicting statements that wait for a decision, latest first."""
        garden, _ = self._cycles.load_input(_find_owner(scope))
        return tuple(find_conflicts(garden))

    def reports(self, scope: Place) -> tuple[GardenCycleReport, ...]:
        """Return the reports of the last cycles, oldest first."""
        return self._states.get(_find_owner(scope)).reports

    def queue(self, scope: Place) -> tuple[ScheduledGardenCycle, ...]:
        """Return scheduled cycles by priority, then time."""
        return list_scheduled(self._deps.store, _find_owner(scope))

    def status(self, scope: Place) -> dict[str, Any]:
        """Return state, queue, last report, usage and undoable cycles.

        ``state``: running, interrupted, paused, scheduled, idle or disabled (none begins by
        itself). ``usage``: tokens and calls of the last day.
        """
        owner = _find_owner(scope)
        state = self._states.get(owner)
        queue = self.queue(owner)
        since = self._deps.clock() - _DAY
        recent = [entry for entry in state.usage if datetime.fromisoformat(entry[0]) > since]
        return {
            "state": self._describe_state(state, bool(queue)),
            "next": min(entry.at for entry in queue).isoformat() if queue else None,
            "queue": [{**asdict(entry), "at": entry.at.isoformat()} for entry in queue],
            "last": asdict(state.reports[-1]) if state.reports else None,
            "failures": state.failures,
            "usage": {
                "tokens": sum(tokens for _, tokens, _ in recent),
                "calls": sum(calls for _, _, calls in recent),
            },
            "undo": list(state.undo),
        }

    def _describe_state(self, state: GardenState, is_queued: bool) -> str:
        if state.going is not None:
            if self._deps.store.workload().get(GARDEN, {}).get("running"):
                return "running"
            return "interrupted"
        if state.paused:
            return "paused"
        if is_queued:
            return "scheduled"
        return "idle" if self._section.enabled else "disabled"

    # ----------------------------------------------------------------------------------------------
    # cycles

    def run(self, scope: Place, jobs: Sequence[str] = ()) -> GardenCycleReport:
        """Run one cycle now. ConflictError: another one runs, or it failed.

        RefusedError: memory is off.
        """
        if not self._deps.settings.enabled:
            raise RefusedError(
                "No cycle runs: memory is off, by the setting `enabled`.",
                hint="Set `enabled` to true; `engrams config enabled` shows where it is set.",
            )
        owner = _find_owner(scope)
        cycle_job = make_cycle_job(
            owner.key, "asked for", _check_jobs(jobs), manual=True, priority=1
        )
        earlier_ids = {report.id for report in self.reports(owner)}
        (job_id,) = self._deps.store.enqueue([cycle_job], self._deps.clock())
        while True:
            job = self._run_queued_job(job_id)
            is_running = job is None and self._find_job(job_id, "running") is not None
            new_reports = [report for report in self.reports(owner) if report.id not in earlier_ids]
            if new_reports:
                return new_reports[-1]
            if not is_running:
                break
            # A worker, of this process or of another one, took the job before this thread did.
            time.sleep(_POLL_SECONDS)
        if job is None:
            seconds = self._deps.settings.jobs.lease_seconds
            raise ConflictError(
                "Another cycle is running, or was just killed. This cycle starts after it.",
                hint=(
                    f"A killed cycle is released after {seconds:.0f} s (`jobs.lease_seconds`)."
                    " `engrams garden status` shows the result."
                ),
            )
        failed = self._find_job(job.id, "waiting", "dead")
        error = failed.error if failed is not None else ""
        raise ConflictError(
            f"The cycle did not end: {error or 'it was taken over'}",
            hint="`engrams status` shows it.",
        )

    def _find_job(self, job_id: str, *states: str) -> Job | None:
        """Find a queued job in one of these states."""
        jobs = self._deps.store.queue(states, _MAX_JOBS_SEARCHED)
        return next((job for job in jobs if job.id == job_id), None)

    def undo(self, scope: Place, cycle: str = "") -> GardenCycleUndoResult:
        """Undo a cycle (none: the last one that changed something).

        Memories that changed since stay as they are. NotFoundError: there is no such cycle, or it
        is too long ago.
        """
        return undo_cycle(
            self._deps.store, self._states, _find_owner(scope), cycle, self._deps.clock()
        )

    def decide(
        self, first_id: str, second_id: str, *, scope: Place, keep: str = ""
    ) -> Record | None:
        """Resolve a conflict: ``keep`` holds, the other statement is superseded.

        Without ``keep`` both stay, and are not listed again. Returns the superseded record.
        NotFoundError: one of them is not there.
        """
        owner = _find_owner(scope)
        garden, _ = self._cycles.load_input(owner)
        records = {record.id: record for record in garden.records}
        missing = [id for id in (first_id, second_id) if id not in records]
        if missing or first_id == second_id:
            raise NotFoundError(
                f"There is no active statement {missing[0] if missing else second_id!r} beside it.",
                hint="See the conflicts.",
            )
        if keep and keep not in (first_id, second_id):
            raise InputError(f"{keep!r} is neither of the two.", hint="Keep one of them, or both.")
        if not keep:
            pair = order_pair(first_id, second_id)
            self._states.change(
                owner,
                lambda state: replace(state, settled=tuple(dict.fromkeys((*state.settled, pair)))),
            )
            return None
        loser_id = second_id if keep == first_id else first_id
        step = decide_conflict(garden, records[keep], records[loser_id], "somebody decided")
        self._cycles.commit_steps(owner, [step], new_id(garden.now))
        return self._deps.store.get(owner, [loser_id])[0]

    # ----------------------------------------------------------------------------------------------
    # schedule

    def pause(self, scope: Place, *, on: bool = True) -> dict[str, Any]:
        """Pause scheduled cycles until ``on=False``; returns the status.

        A running cycle stops behind its current job.
        """
        owner = _find_owner(scope)
        now = self._deps.clock()
        self._states.change(owner, lambda state: replace(state, paused=on))
        if not on and self._section.enabled:
            self._deps.store.enqueue([make_wake_job(owner, "next", now, "no longer paused")], now)
        return self.status(owner)

    def wake(self, scope: Place, at: datetime, *, priority: int = 0, why: str = "") -> str:
        """Schedule a cycle; returns the id of the entry."""
        owner = _find_owner(scope)
        now = self._deps.clock()
        wake_job = make_wake_job(owner, new_id(now), at, why, priority)
        return self._deps.store.enqueue([wake_job], now)[0]

    def cancel(self, ids: str | Sequence[str], *, scope: Place) -> int:
        """Cancel scheduled cycles; returns how many there were."""
        scheduled_ids = {entry.id for entry in self.queue(scope)}
        requested_ids = [ids] if isinstance(ids, str) else list(ids)
        return self._deps.store.cancel([id for id in requested_ids if id in scheduled_ids])

    def clear_reports(self, owner: Scope) -> None:
        """Clear texts of reports and queue entries; they may quote purged text."""
        now = self._deps.clock()
        store = self._deps.store
        self._states.change(
            owner,
            lambda state: replace(
                state,
                reports=tuple(replace(report, summary="", notes=()) for report in state.reports),
            ),
        )
        entries = [entry for entry in self.queue(owner) if entry.why]
        if entries and store.cancel([entry.id for entry in entries]):
            blank_jobs = [
                make_wake_job(owner, entry.name, entry.at, "", entry.priority) for entry in entries
            ]
            store.enqueue(blank_jobs, now)


def _find_owner(scope: Place) -> Scope:
    return Scope.of(scope).owner


def _check_jobs(jobs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of jobs. InputError: one is unknown."""
    unknown = [job for job in jobs if job not in JOBS]
    if unknown:
        raise InputError(
            f"There is no job {unknown[0]!r}.", hint=f"The jobs are: {', '.join(JOBS)}."
        )
    return tuple(jobs)
