"""The garden, from outside: plan, run, undo, decide, and when the next cycle begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from engrams.clock import new_id
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import GARDEN, WAKE, Batch, Change, Job, JobSpec
from engrams.settings import JOBS
from engrams.tend.garden import conflict, pace
from engrams.tend.garden.cycle import ACTOR, CycleRequest, CycleRunner, GardenDeps
from engrams.tend.garden.plan import GardenPlan, StatementConflict, order_pair
from engrams.tend.garden.queue import QueueEntry, list_entries, make_wake_job
from engrams.tend.garden.state import CycleReport, GardenState, decode, encode
from engrams.types import Edge, EdgeType, Record, Scope, Status

Place: TypeAlias = Scope | str | Sequence[str]

_TRIES = 5


@dataclass(frozen=True, slots=True)
class CycleUndo:
    """``restored``: memories that are as before. ``left``: those that were changed since, and stay as they are."""

    cycle: str
    restored: tuple[str, ...]
    left: tuple[str, ...] = ()


class MemoryGarden:
    """Reached as ``engine.garden``. It looks after all of an owner's memory, whatever part of it a scope names. Thread safe."""

    def __init__(self, deps: GardenDeps, run: Callable[[str], Job | None]) -> None:
        self._deps, self._run = deps, run
        self._cycles = CycleRunner(deps)
        self._states = self._cycles.states
        self._section = deps.settings.garden

    # ------------------------------------------------------------------------------------------------------- looking

    def plan(self, scope: Place, jobs: Sequence[str] = ()) -> GardenPlan:
        """What a cycle would do now; changes nothing. ``jobs``: which of them (none: as set)."""
        return self._cycles.plan(_owner_of(scope), _check_jobs(jobs))

    def conflicts(self, scope: Place) -> tuple[StatementConflict, ...]:
        """Statements that cannot both be so and wait for a decision, the latest first."""
        return tuple(conflict.find_conflicts(self._cycles.load_scope(_owner_of(scope))[0]))

    def reports(self, scope: Place) -> tuple[CycleReport, ...]:
        """The last cycles, oldest first."""
        return self._states.get(_owner_of(scope)).reports

    def queue(self, scope: Place) -> tuple[QueueEntry, ...]:
        """When cycles are to begin: the highest priority first, then the earliest."""
        return list_entries(self._deps.store, _owner_of(scope))

    def status(self, scope: Place) -> dict[str, Any]:
        """``state``: running, paused, scheduled, idle or disabled (none begins by itself); the queue, the last report, tokens and calls
        of the last day, and which cycles can be undone."""
        owner = _owner_of(scope)
        state, queue = self._states.get(owner), self.queue(owner)
        day = self._deps.clock() - timedelta(days=1)
        recent = [entry for entry in state.usage if datetime.fromisoformat(entry[0]) > day]
        return {
            "state": self._describe_state(state, bool(queue)),
            "next": min(entry.at for entry in queue).isoformat() if queue else None,
            "queue": [{**asdict(entry), "at": entry.at.isoformat()} for entry in queue],
            "last": asdict(state.reports[-1]) if state.reports else None,
            "failures": state.failures,
            "usage": {"tokens": sum(tokens for _, tokens, _ in recent), "calls": sum(calls for _, _, calls in recent)},
            "undo": list(state.undo),
        }

    def _describe_state(self, state: GardenState, queued: bool) -> str:
        if state.going is not None:
            return "running" if self._is_running() else "interrupted"
        if state.paused:
            return "paused"
        return "scheduled" if queued else "idle" if self._section.enabled else "disabled"

    def _is_running(self) -> bool:
        return bool(self._deps.store.workload().get(GARDEN, {}).get("running"))

    # ------------------------------------------------------------------------------------------------------- doing

    def run(self, scope: Place, jobs: Sequence[str] = ()) -> CycleReport:
        """One cycle, here and now. ConflictError: another one is running, or it failed and is tried again later."""
        owner, chosen = _owner_of(scope), _check_jobs(jobs)
        now = self._deps.clock()
        known = {report.id for report in self.reports(owner)}
        spec = JobSpec(GARDEN, "", {"items": [[owner.key, "asked for", list(chosen), True]]}, priority=1)
        job = self._run(self._deps.store.enqueue([spec], now)[0])
        fresh = [report for report in self.reports(owner) if report.id not in known]
        if fresh:
            return fresh[-1]
        if job is None:
            raise ConflictError("Another cycle is running; this one comes after it.", hint="`engrams garden status` shows how it went.")
        failed = [each.error for each in self._deps.store.queue(("waiting", "dead"), 1000) if each.id == job.id and each.error]
        raise ConflictError(f"The cycle did not end: {failed[0] if failed else 'it was taken over'}", hint="`engrams status` shows it.")

    def undo(self, scope: Place, cycle: str = "") -> CycleUndo:
        """Take a cycle back (none: the last one that changed something): everything it changed is as before, but for what was changed
        since. NotFoundError: there is no such cycle, or it is too long ago."""
        owner = _owner_of(scope)
        now, store = self._deps.clock(), self._deps.store
        state = self._states.get(owner)
        name = cycle or max(state.undo, default="")  # ids sort by time
        if name not in state.undo:
            said = f"There is no cycle {cycle!r} to undo." if cycle else "There is nothing to undo."
            raise NotFoundError(said, hint="`engrams garden status` lists them.")
        entry = state.undo[name]
        versions: dict[str, int] = dict(entry["records"])
        records = {record.id: record for record in store.get(owner, list(versions))}
        changes, left = [], []
        for id, version in versions.items():
            record = records.get(id)
            if record is None or record.status is Status.PURGED or record.version != version:
                left.append(id)
            else:
                changes.append(Change(owner, id, self._previous_fields(record), "undo", version))
        added, gone = _restore_links(owner, entry["links"])
        row = self._states.load_row(owner, now)
        rest = {key: value for key, value in state.undo.items() if key != name}
        saved = replace(row, data=encode(replace(decode(row.data), undo=rest)))
        store.commit(Batch(ACTOR, "undone", now, changes=tuple(changes), edges=added, unlink=gone, sessions=(saved,)))
        return CycleUndo(name, tuple(change.id for change in changes), tuple(left))

    def decide(self, one: str, other: str, *, scope: Place, keep: str = "") -> Record | None:
        """Settle a conflict: ``keep`` holds and the other does not any more; without ``keep`` both stay, and are not asked about again.
        The one that was put away. NotFoundError: one of them is not there."""
        owner = _owner_of(scope)
        garden, _ = self._cycles.load_scope(owner)
        known = {record.id: record for record in garden.records}
        missing = [id for id in (one, other) if id not in known]
        if missing or one == other:
            raise NotFoundError(f"There is no active statement {missing[0] if missing else other!r} beside it.", hint="See the conflicts.")
        if keep and keep not in (one, other):
            raise InputError(f"{keep!r} is neither of the two.", hint="Keep one of them, or both.")
        if not keep:
            now = self._deps.clock()
            marks = order_pair(one, other)
            self._states.change(owner, now, lambda state: replace(state, settled=tuple(dict.fromkeys((*state.settled, marks)))))
            return None
        drop = other if keep == one else one
        self._cycles.commit_steps(
            owner, [conflict.decide_conflict(garden, known[keep], known[drop], "somebody decided")], new_id(garden.now)
        )
        return self._deps.store.get(owner, [drop])[0]

    def pause(self, scope: Place, *, on: bool = True) -> dict[str, Any]:
        """No cycle begins by itself until ``on=False``; one that runs stops behind its next job. The status."""
        owner, now = _owner_of(scope), self._deps.clock()
        self._states.change(owner, now, lambda state: replace(state, paused=on))
        if not on and self._section.enabled:
            self._deps.store.enqueue([make_wake_job(owner, "next", now, "no longer paused")], now)
        return self.status(owner)

    def wake(self, scope: Place, at: datetime, *, priority: int = 0, why: str = "") -> str:
        """Have a cycle begin then; the id of the entry."""
        owner, now = _owner_of(scope), self._deps.clock()
        return self._deps.store.enqueue([make_wake_job(owner, new_id(now), at, why, priority)], now)[0]

    def cancel(self, ids: str | Sequence[str], *, scope: Place) -> int:
        """Take entries off the queue; how many there were."""
        own = {entry.id for entry in self.queue(scope)}
        some = [ids] if isinstance(ids, str) else list(ids)
        return self._deps.store.cancel([id for id in some if id in own])

    def clear_reports(self, owner: Scope) -> None:
        """Something was purged: words about this memory, which may tell of it, go."""
        now, store = self._deps.clock(), self._deps.store
        self._states.change(
            owner, now, lambda state: replace(state, reports=tuple(replace(report, summary="", notes=()) for report in state.reports))
        )
        told = [entry for entry in self.queue(owner) if entry.why]
        if told and store.cancel([entry.id for entry in told]):
            store.enqueue([make_wake_job(owner, entry.name, entry.at, "", entry.priority) for entry in told], now)

    # ------------------------------------------------------------------------------------------------------- jobs

    def run_job(self, job: Job) -> None:
        """The handler of both kinds of job."""
        if job.kind == WAKE:
            self._request_cycle(job)
        else:
            self._run_cycle(job)

    def _request_cycle(self, job: Job) -> None:
        """The time of an entry has come: ask for a cycle."""
        now = self._deps.clock()
        item = [str(job.payload["scope"]), str(job.payload.get("why", "")), [], False]
        self._deps.store.commit(Batch(ACTOR, "woken", now, jobs=(JobSpec(GARDEN, "", {"items": [item]}),), finish=(job.lease,)))

    def _run_cycle(self, job: Job) -> None:
        """One owner's cycle, those that a person asked for first; the others are left to the next job."""
        items = sorted(job.payload.get("items", ()), key=lambda item: not item[3])
        if not items:
            self._deps.store.finish(job.lease, self._deps.clock())
            return
        (key, why, jobs, manual), *rest = items
        owner = Scope.parse(key)
        again = (JobSpec(GARDEN, "", {"items": rest}),) if rest else ()
        done = Batch(ACTOR, "tended", self._deps.clock(), jobs=again, finish=(job.lease,))
        if not self._deps.settings.enabled:
            self._deps.store.commit(done)
            return
        report = self._cycles.run(CycleRequest(owner, why, job.id, tuple(jobs), bool(manual), lambda: self._renew_lease(job)))
        self._commit_end(owner, report, done)

    def _commit_end(self, owner: Scope, report: CycleReport, done: Batch) -> None:
        """That it is over and that its job is done is one write: a cycle that has a report is not begun again."""
        for left in reversed(range(_TRIES)):
            state, row = self._cycles.close_cycle(owner, report)
            try:
                self._deps.store.commit(replace(done, sessions=(row,), jobs=(*done.jobs, *self._next_wakes(owner, report, state))))
                return
            except ConflictError:
                # Somebody paused it this moment; or the job was taken over, and then looking again is of no use.
                if not left:
                    raise

    def _next_wakes(self, owner: Scope, report: CycleReport, state: GardenState) -> tuple[JobSpec, ...]:
        """The next one: when somebody has gone, or when the model wants to look again."""
        now = self._deps.clock()
        if not self._section.enabled or state.paused:
            return ()
        if report.state == "paused":
            return (make_wake_job(owner, "next", now + timedelta(minutes=self._section.quiet_minutes), report.why),)
        if not report.calls:
            return ()
        minutes = pace.compute_pause(report.next_minutes, self._cycles.tokens_left(), state.failures, self._section)
        return (make_wake_job(owner, "next", now + timedelta(minutes=minutes), "to look again"),)

    def _renew_lease(self, job: Job) -> None:
        """Keep the job; a worker that lost it must not go on."""
        until = self._deps.clock() + timedelta(seconds=self._deps.settings.jobs.lease_seconds)
        if not self._deps.store.renew(job.lease, until):
            raise ConflictError("The cycle was taken over by another worker.", hint="That one goes on with it.")

    def _previous_fields(self, record: Record) -> dict[str, Any]:
        (entry,) = [each for each in self._deps.store.history(record.scope.owner, record.id) if each.version == record.version]
        return dict(entry.before)


def _restore_links(owner: Scope, log: Sequence[Sequence[Any]]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Links to be as before, and those to go."""
    added, gone = [], []
    for source, target, type, weight, count in log:
        edge = Edge(owner, source, target, EdgeType(type), weight or 0.0, 0)
        if weight is None:
            gone.append(edge)
        else:
            added.append(replace(edge, count=count))
    # A link's count grows by what a write says: taken off first, it is what it was.
    return tuple(added), (*gone, *added)


def _owner_of(scope: Place) -> Scope:
    return Scope.of(scope).owner


def _check_jobs(jobs: Sequence[str]) -> tuple[str, ...]:
    unknown = [job for job in jobs if job not in JOBS]
    if unknown:
        raise InputError(f"There is no job {unknown[0]!r}.", hint=f"The jobs are: {', '.join(JOBS)}.")
    return tuple(jobs)
