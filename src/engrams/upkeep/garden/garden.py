"""Garden interface: plan, run, undo, decide, schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from engrams.core import Edge, EdgeType, Record, Scope, ScopeInput, Status
from engrams.core.ids import new_id
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import (
    GARDEN,
    WAKE,
    Job,
    JobSpec,
    RecordChange,
    WriteBatch,
)
from engrams.settings import JOBS
from engrams.upkeep.garden.cycle import ACTOR, GardenCycleRequest, GardenCycleRunner, GardenDeps
from engrams.upkeep.garden.rule_jobs import (
    GardenPlan,
    StatementConflict,
    decide_conflict,
    find_conflicts,
    order_pair,
)
from engrams.upkeep.garden.state import (
    GardenCycleReport,
    GardenState,
    ScheduledGardenCycle,
    compute_pause,
    decode,
    encode,
    list_entries,
    make_wake_job,
)

Place: TypeAlias = ScopeInput

_TRIES = 5


@dataclass(frozen=True, slots=True)
class GardenCycleUndoResult:
    """Result of undoing a cycle.

    ``restored``: ids of memories that are as before. ``left``: ids of those that changed since, and
    stay.
    """

    cycle: str
    restored: tuple[str, ...]
    left: tuple[str, ...] = ()


class MemoryGarden:
    """Upkeep of all of an owner's memory, reached as ``engine.garden``. Thread safe.

    Any scope of an owner stands for the owner.
    """

    def __init__(self, deps: GardenDeps, run: Callable[[str], Job | None]) -> None:
        self._deps = deps
        self._run = run
        self._cycles = GardenCycleRunner(deps)
        self._states = self._cycles.states
        self._section = deps.settings.garden

    # ----------------------------------------------------------------------------------------------
    # looking

    def plan(self, scope: Place, jobs: Sequence[str] = ()) -> GardenPlan:
        """Plan a cycle without changing anything. ``jobs``: their names (none: as configured)."""
        return self._cycles.plan(_owner_of(scope), _check_jobs(jobs))

    def conflicts(self, scope: Place) -> tuple[StatementConflict, ...]:
        """Return conflicting statements that wait for a decision, latest first."""
        return tuple(find_conflicts(self._cycles.load_scope(_owner_of(scope))[0]))

    def reports(self, scope: Place) -> tuple[GardenCycleReport, ...]:
        """Return the reports of the last cycles, oldest first."""
        return self._states.get(_owner_of(scope)).reports

    def queue(self, scope: Place) -> tuple[ScheduledGardenCycle, ...]:
        """Return scheduled cycles by priority, then time."""
        return list_entries(self._deps.store, _owner_of(scope))

    def status(self, scope: Place) -> dict[str, Any]:
        """Return state, queue, last report, usage and undoable cycles.

        ``state``: running, interrupted, paused, scheduled, idle or disabled (none begins by
        itself). ``usage``: tokens and calls of the last day.
        """
        owner = _owner_of(scope)
        state = self._states.get(owner)
        queue = self.queue(owner)
        day = self._deps.clock() - timedelta(days=1)
        recent = [entry for entry in state.usage if datetime.fromisoformat(entry[0]) > day]
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

    def _describe_state(self, state: GardenState, queued: bool) -> str:
        if state.going is not None:
            return (
                "running"
                if self._deps.store.workload().get(GARDEN, {}).get("running")
                else "interrupted"
            )
        if state.paused:
            return "paused"
        if queued:
            return "scheduled"
        if self._section.enabled:
            return "idle"
        return "disabled"

    # ----------------------------------------------------------------------------------------------
    # doing

    def run(self, scope: Place, jobs: Sequence[str] = ()) -> GardenCycleReport:
        """Run one cycle now. ConflictError: another one runs, or it failed."""
        owner = _owner_of(scope)
        chosen = _check_jobs(jobs)
        now = self._deps.clock()
        known = {report.id for report in self.reports(owner)}
        spec = JobSpec(
            GARDEN, "", {"items": [[owner.key, "asked for", list(chosen), True]]}, priority=1
        )
        job = self._run(self._deps.store.enqueue([spec], now)[0])
        fresh = [report for report in self.reports(owner) if report.id not in known]
        if fresh:
            return fresh[-1]
        if job is None:
            seconds = self._deps.settings.jobs.lease_seconds
            raise ConflictError(
                "Another cycle is running, or was killed just now; this one comes after it.",
                hint=(
                    f"A killed one is let go of after {seconds:.0f} s (`jobs.lease_seconds`)."
                    " `engrams garden status` shows how it went."
                ),
            )
        failed = [
            each.error
            for each in self._deps.store.queue(("waiting", "dead"), 1000)
            if each.id == job.id and each.error
        ]
        raise ConflictError(
            f"The cycle did not end: {failed[0] if failed else 'it was taken over'}",
            hint="`engrams status` shows it.",
        )

    def undo(self, scope: Place, cycle: str = "") -> GardenCycleUndoResult:
        """Undo a cycle (none: the last one that changed something).

        Memories that changed since stay as they are. NotFoundError: there is no such cycle, or it
        is too long ago.
        """
        owner = _owner_of(scope)
        now = self._deps.clock()
        store = self._deps.store
        state = self._states.get(owner)
        name = cycle or max(state.undo, default="")  # ids sort by time
        if name not in state.undo:
            said = f"There is no cycle {cycle!r} to undo." if cycle else "There is nothing to undo."
            raise NotFoundError(said, hint="`engrams garden status` lists them.")
        entry = state.undo[name]
        versions: dict[str, int] = dict(entry["records"])
        records = {record.id: record for record in store.get(owner, list(versions))}
        changes = []
        left = []
        for id, version in versions.items():
            record = records.get(id)
            if record is None or record.status is Status.PURGED or record.version != version:
                left.append(id)
            else:
                changes.append(
                    RecordChange(
                        owner=owner,
                        id=id,
                        fields=self._previous_fields(record),
                        action="undo",
                        expect=version,
                    )
                )
        added, gone = _restore_links(owner, entry["links"])
        row = self._states.load_row(owner)
        rest = {key: value for key, value in state.undo.items() if key != name}
        saved = replace(row, data=encode(replace(decode(row.data), undo=rest)))
        store.commit(
            WriteBatch(
                ACTOR,
                "undone",
                now,
                changes=tuple(changes),
                edges=added,
                unlink=gone,
                states=(saved,),
            )
        )
        return GardenCycleUndoResult(name, tuple(change.id for change in changes), tuple(left))

    def decide(self, one: str, other: str, *, scope: Place, keep: str = "") -> Record | None:
        """Resolve a conflict: ``keep`` holds, the other one is superseded.

        Without ``keep`` both stay, and are not listed again. Returns the superseded record.
        NotFoundError: one of them is not there.
        """
        owner = _owner_of(scope)
        garden, _ = self._cycles.load_scope(owner)
        known = {record.id: record for record in garden.records}
        missing = [id for id in (one, other) if id not in known]
        if missing or one == other:
            raise NotFoundError(
                f"There is no active statement {missing[0] if missing else other!r} beside it.",
                hint="See the conflicts.",
            )
        if keep and keep not in (one, other):
            raise InputError(f"{keep!r} is neither of the two.", hint="Keep one of them, or both.")
        if not keep:
            marks = order_pair(one, other)
            self._states.change(
                owner,
                lambda state: replace(state, settled=tuple(dict.fromkeys((*state.settled, marks)))),
            )
            return None
        drop = other if keep == one else one
        self._cycles.commit_steps(
            owner,
            [decide_conflict(garden, known[keep], known[drop], "somebody decided")],
            new_id(garden.now),
        )
        return self._deps.store.get(owner, [drop])[0]

    def pause(self, scope: Place, *, on: bool = True) -> dict[str, Any]:
        """Pause scheduled cycles until ``on=False``; returns the status.

        A running cycle stops behind its current job.
        """
        owner = _owner_of(scope)
        now = self._deps.clock()
        self._states.change(owner, lambda state: replace(state, paused=on))
        if not on and self._section.enabled:
            self._deps.store.enqueue([make_wake_job(owner, "next", now, "no longer paused")], now)
        return self.status(owner)

    def wake(self, scope: Place, at: datetime, *, priority: int = 0, why: str = "") -> str:
        """Schedule a cycle; returns the id of the entry."""
        owner = _owner_of(scope)
        now = self._deps.clock()
        return self._deps.store.enqueue(
            [make_wake_job(owner, new_id(now), at, why, priority)], now
        )[0]

    def cancel(self, ids: str | Sequence[str], *, scope: Place) -> int:
        """Cancel scheduled cycles; returns how many there were."""
        own = {entry.id for entry in self.queue(scope)}
        some = [ids] if isinstance(ids, str) else list(ids)
        return self._deps.store.cancel([id for id in some if id in own])

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
            store.enqueue(
                [
                    make_wake_job(owner, entry.name, entry.at, "", entry.priority)
                    for entry in entries
                ],
                now,
            )

    # ----------------------------------------------------------------------------------------------
    # jobs

    def run_job(self, job: Job) -> None:
        if job.kind == WAKE:
            self._request_cycle(job)
        else:
            self._run_cycle(job)

    def _request_cycle(self, job: Job) -> None:
        now = self._deps.clock()
        item = [str(job.payload["scope"]), str(job.payload.get("why", "")), [], False]
        self._deps.store.commit(
            WriteBatch(
                ACTOR,
                "woken",
                now,
                jobs=(JobSpec(GARDEN, "", {"items": [item]}),),
                finish=(job.lease,),
            )
        )

    def _run_cycle(self, job: Job) -> None:
        """Run one owner's cycle, manual ones first; re-enqueue the others."""
        items = sorted(job.payload.get("items", ()), key=lambda item: not item[3])
        if not items:
            self._deps.store.finish(job.lease, self._deps.clock())
            return
        (key, why, jobs, manual), *rest = items
        owner = Scope.parse(key)
        again = (JobSpec(GARDEN, "", {"items": rest}),) if rest else ()
        done = WriteBatch(ACTOR, "tended", self._deps.clock(), jobs=again, finish=(job.lease,))
        if not self._deps.settings.enabled:
            self._deps.store.commit(done)
            return
        report = self._cycles.run(
            GardenCycleRequest(
                owner=owner,
                why=why,
                job=job.id,
                jobs=tuple(jobs),
                manual=bool(manual),
                alive=lambda: self._renew_lease(job),
            )
        )
        self._commit_end(owner, report, done)

    def _commit_end(self, owner: Scope, report: GardenCycleReport, done: WriteBatch) -> None:
        for left in reversed(range(_TRIES)):
            state, row = self._cycles.close_cycle(owner, report)
            try:
                self._deps.store.commit(
                    replace(
                        done,
                        states=(row,),
                        jobs=(*done.jobs, *self._next_wakes(owner, report, state)),
                    )
                )
                return
            except ConflictError:
                # The state changed meanwhile: retry. Where the job was taken over, retries fail
                # too.
                if not left:
                    raise

    def _next_wakes(
        self, owner: Scope, report: GardenCycleReport, state: GardenState
    ) -> tuple[JobSpec, ...]:
        """Build the next scheduled cycles, as pauses or the model ask."""
        now = self._deps.clock()
        if not self._section.enabled or state.paused:
            return ()
        if report.state == "paused":
            return (
                make_wake_job(
                    owner, "next", now + timedelta(minutes=self._section.quiet_minutes), report.why
                ),
            )
        if not report.calls:
            return ()
        minutes = compute_pause(
            report.next_minutes, self._cycles.tokens_left(), state.failures, self._section
        )
        return (make_wake_job(owner, "next", now + timedelta(minutes=minutes), "to look again"),)

    def _renew_lease(self, job: Job) -> None:
        """Renew the lease. ConflictError: another worker has the job."""
        until = self._deps.clock() + timedelta(seconds=self._deps.settings.jobs.lease_seconds)
        if not self._deps.store.renew(job.lease, until):
            raise ConflictError(
                "The cycle was taken over by another worker.", hint="That worker continues it."
            )

    def _previous_fields(self, record: Record) -> dict[str, Any]:
        (entry,) = [
            each
            for each in self._deps.store.history(record.scope.owner, record.id)
            if each.version == record.version
        ]
        return dict(entry.before)


def _restore_links(
    owner: Scope, log: Sequence[Sequence[Any]]
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Split logged links into those to restore and those to remove."""
    added = []
    gone = []
    for source, target, type, weight, count in log:
        edge = Edge(
            owner=owner,
            source=source,
            target=target,
            type=EdgeType(type),
            weight=weight or 0.0,
            count=0,
        )
        if weight is None:
            gone.append(edge)
        else:
            added.append(replace(edge, count=count))
    # A write adds to a link's count: remove the link first to restore the count.
    return tuple(added), (*gone, *added)


def _owner_of(scope: Place) -> Scope:
    return Scope.of(scope).owner


def _check_jobs(jobs: Sequence[str]) -> tuple[str, ...]:
    unknown = [job for job in jobs if job not in JOBS]
    if unknown:
        raise InputError(
            f"There is no job {unknown[0]!r}.", hint=f"The jobs are: {', '.join(JOBS)}."
        )
    return tuple(jobs)
