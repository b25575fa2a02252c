"""Garden state and queue of an owner, changed by compare and swap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from engrams.core import Scope, Status
from engrams.core.clock import parse_time
from engrams.errors import ConflictError
from engrams.frozen_data import dataclass
from engrams.ports import (
    GARDEN_STATE,
    WAKE,
    Job,
    JobQueue,
    JobSpec,
    OwnerStateRow,
    OwnerStateStore,
    RecordStore,
)
from engrams.read.request import visible_scopes
from engrams.settings import GardenSettings

_TRIES = 50
_KEPT = 10
"""Reports and undoable cycles kept."""
_DAY = timedelta(days=1)

Ending = Literal["complete", "incomplete", "interrupted", "paused"]


_GROWN = 1.05
"""Growth since the last cycle from which size triggers another one."""


_DOUBLED = 6
"""Failures after which the pause grows no further: 64 times."""


@dataclass(frozen=True, slots=True)
class GardenCycleReport:
    """Report of an upkeep cycle: times, state, counts, summary.

    ``modified``: memories that changed; ``compactions``: how many were merged into others.
    ``next_minutes``: the pause that the model asked for (None: it was not asked). ``jobs``: steps
    of each job. ``state`` incomplete: the model gave no report.
    """

    id: str
    why: str
    at: str
    ended: str = ""
    state: Ending = "complete"
    summary: str = ""
    modified: int = 0
    compactions: int = 0
    conflicts: int = 0
    next_minutes: float | None = None
    tokens: int = 0
    calls: int = 0
    jobs: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GardenCycleProgress:
    """Progress of a running cycle.

    ``done``: finished jobs, whatever their result; none is repeated. ``job``: id of the queued job
    whose next attempt continues it.
    """

    report: GardenCycleReport
    done: tuple[str, ...] = ()
    job: str = ""


@dataclass(frozen=True, slots=True)
class GardenState:
    """Saved state of an owner's upkeep: progress, reports, usage, undo log.

    ``undo``: undo log by cycle. ``usage``: (time, tokens, calls) of the last day. ``failures``:
    failed cycles in a row. ``size``: active memories after the last cycle. ``settled``: pairs of
    ids with a decision.
    """

    paused: bool = False
    going: GardenCycleProgress | None = None
    reports: tuple[GardenCycleReport, ...] = ()
    undo: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    usage: tuple[tuple[str, int, int], ...] = ()
    failures: int = 0
    size: int = 0
    settled: tuple[tuple[str, str], ...] = ()

    def with_report(self, report: GardenCycleReport, size: int) -> GardenState:
        """Return the state after a cycle; pauses leave ``failures`` unchanged."""
        failures = {"complete": 0, "paused": self.failures}.get(report.state, self.failures + 1)
        return replace(
            self, going=None, reports=(*self.reports, report)[-_KEPT:], failures=failures, size=size
        )

    def with_usage(self, at: datetime, tokens: int, calls: int) -> GardenState:
        """Return the state after model use; entries older than a day go."""
        recent = tuple(entry for entry in self.usage if parse_time(entry[0]) > at - _DAY)
        return replace(self, usage=(*recent, (at.isoformat(), tokens, calls)))

    def with_undo(self, cycle: str, records: list[Any], links: list[Any]) -> GardenState:
        entry = self.undo.get(cycle, {"records": [], "links": []})
        entry = {"records": [*entry["records"], *records], "links": [*entry["links"], *links]}
        kept = {
            name: self.undo[name] for name in sorted(self.undo)[-_KEPT + 1 :] if name != cycle
        }  # ids sort by time
        return replace(self, undo={**kept, cycle: entry})


class GardenStateStore:
    """Garden states of all owners, changed by compare and swap."""

    def __init__(self, store: OwnerStateStore) -> None:
        self._store = store

    def load_row(self, owner: Scope) -> OwnerStateRow:
        """Load the row; committing a stale one conflicts."""
        return self._store.load_state(owner, GARDEN_STATE)

    def get(self, owner: Scope) -> GardenState:
        return decode(self.load_row(owner).data)

    def change(self, owner: Scope, change: Callable[[GardenState], GardenState]) -> GardenState:
        for left in reversed(range(_TRIES)):
            row = self.load_row(owner)
            fresh = change(decode(row.data))
            try:
                self._store.save_state(replace(row, data=encode(fresh)), expect=row.token)
            except ConflictError:
                if not left:
                    raise
            else:
                return fresh
        raise AssertionError("unreachable")


def encode(state: GardenState) -> dict[str, Any]:
    return asdict(state)


def decode(data: Mapping[str, Any]) -> GardenState:
    going = data.get("going")
    return GardenState(
        paused=bool(data.get("paused")),
        going=GardenCycleProgress(
            _decode_report(going["report"]), tuple(going["done"]), going["job"]
        )
        if going
        else None,
        reports=tuple(_decode_report(each) for each in data.get("reports", ())),
        undo=data.get("undo", {}),
        usage=tuple((at, tokens, calls) for at, tokens, calls in data.get("usage", ())),
        failures=int(data.get("failures", 0)),
        size=int(data.get("size", 0)),
        settled=tuple((one, other) for one, other in data.get("settled", ())),
    )


def _decode_report(data: Mapping[str, Any]) -> GardenCycleReport:
    known = {each.name for each in fields(GardenCycleReport)}
    values: dict[str, Any] = {
        name: tuple(value) if name == "notes" else value
        for name, value in data.items()
        if name in known
    }
    return GardenCycleReport(**values)


@dataclass(frozen=True, slots=True)
class ScheduledGardenCycle:
    """Scheduled cycle. A higher ``priority`` goes first."""

    id: str
    at: datetime
    priority: int
    why: str
    name: str


def list_entries(jobs: JobQueue, owner: Scope) -> tuple[ScheduledGardenCycle, ...]:
    """List an owner's scheduled cycles by priority, then time."""
    found = [_to_entry(job) for job in jobs.waiting(WAKE, f"{owner.key}|")]
    return tuple(sorted(found, key=lambda entry: (-entry.priority, entry.at, entry.id)))


def make_wake_job(
    owner: Scope, name: str, at: datetime, why: str, priority: int = 0, *, debounce: bool = False
) -> JobSpec:
    """Make the job of a scheduled cycle."""
    return JobSpec(
        kind=WAKE,
        key=f"{owner.key}|{name}",
        payload={"scope": owner.key, "why": why[:240]},
        due=at,
        priority=priority,
        debounce=debounce,
    )


def make_trigger_jobs(
    owner: Scope, now: datetime, section: GardenSettings, records: RecordStore, size: int
) -> tuple[JobSpec, ...]:
    """Make the jobs of cycles that are due after learning.

    ``size``: active memories after the last cycle.
    """
    found = []
    if section.trigger_hours:
        found.append(
            make_wake_job(
                owner,
                "clock",
                now + timedelta(hours=section.trigger_hours),
                f"{section.trigger_hours:g} hours after something was learned",
            )
        )
    if section.idle_minutes:
        found.append(
            make_wake_job(
                owner,
                "idle",
                now + timedelta(minutes=section.idle_minutes),
                "nobody spoke",
                debounce=True,
            )
        )
    if section.trigger_memories:
        active = records.counts(visible_scopes(owner)).get("status", {}).get(Status.ACTIVE, 0)
        if active > max(section.trigger_memories, size * _GROWN):
            found.append(
                make_wake_job(
                    owner, "size", now, f"more than {section.trigger_memories:,} memories"
                )
            )
    return tuple(found)


def _to_entry(job: Job) -> ScheduledGardenCycle:
    return ScheduledGardenCycle(
        id=job.id,
        at=job.due,
        priority=job.priority,
        why=str(job.payload.get("why", "")),
        name=job.key.rpartition("|")[2],
    )


def compute_pause(
    asked: float | None, left: int | None, failures: int, section: GardenSettings
) -> float:
    """Return the minutes until the next cycle.

    ``asked``: the model's wish (None: it named nothing). ``left``: tokens left today (None:
    unknown). ``failures``: failed cycles in a row. Always within ``least_minutes`` and
    ``most_minutes``; the longest where nothing is known about limits or nothing is left; twice as
    long with each failure, 64 times at most.
    """
    if left is None or left <= 0:
        return section.max_pause_minutes
    wish = section.pause_minutes if asked is None else asked
    shortest = max(min(wish, section.max_pause_minutes), section.min_pause_minutes)
    return min(shortest * 2.0 ** min(max(failures, 0), _DOUBLED), section.max_pause_minutes)


def compute_allowance(left: int | None, section: GardenSettings) -> int:
    """Return a cycle's token budget, capped by a share of today's."""
    if left is None:
        return section.model_tokens
    return max(min(section.model_tokens, int(left * section.budget_share)), 0)
