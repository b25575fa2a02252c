"""State of an owner's garden: progress, reports, usage and the undo log.

It is one row of the store's owner states, changed by compare and swap, so that any number of
processes may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from engrams.core import Scope
from engrams.core.clock import parse_time
from engrams.errors import ConflictError
from engrams.ports import GARDEN_STATE, OwnerStateRow, OwnerStateStore

_MAX_ATTEMPTS = 50
"""Attempts to save a state that others change meanwhile."""
_MAX_CYCLES = 10
"""Reports and undoable cycles that are kept."""
_DAY = timedelta(days=1)

CycleState = Literal["complete", "incomplete", "interrupted", "paused"]


@dataclass(frozen=True, slots=True)
class GardenCycleReport:
    """Report of a cycle: times, counts and summary. Its fields are on the wire."""

    id: str
    why: str
    """Why it began."""
    at: str
    """Time of its beginning, ISO."""
    ended: str = ""
    """Time of its end, ISO; empty while it runs."""
    state: CycleState = "complete"
    """``incomplete``: the model gave no report."""
    summary: str = ""
    """By the model."""
    modified: int = 0
    """Memories that changed."""
    compactions: int = 0
    """Memories that were merged into others."""
    conflicts: int = 0
    """Conflicts that were found."""
    next_minutes: float | None = None
    """The pause until the next cycle that the model asked for; None: it was not asked."""
    tokens: int = 0
    calls: int = 0
    jobs: Mapping[str, int] = field(default_factory=dict)
    """Number of steps by job."""
    notes: tuple[str, ...] = ()
    """What was left out or went wrong."""


@dataclass(frozen=True, slots=True)
class GardenCycleProgress:
    """Progress of a running cycle."""

    report: GardenCycleReport
    done: tuple[str, ...] = ()
    """Finished jobs, whatever their result; none is repeated."""
    job: str = ""
    """Id of the queued job whose next attempt continues the cycle."""

    def with_report(self, **changed_fields: Any) -> GardenCycleProgress:
        """Return the progress with other fields of its report."""
        return replace(self, report=replace(self.report, **changed_fields))

    def with_notes(self, *notes: str) -> GardenCycleProgress:
        """Return the progress with more notes, each once."""
        return self.with_report(notes=tuple(dict.fromkeys((*self.report.notes, *notes))))

    def with_done(self, job: str) -> GardenCycleProgress:
        return replace(self, done=(*self.done, job))

    def with_count(self, job: str, count: int) -> GardenCycleProgress:
        """Return the progress with the number of a job's steps."""
        return self.with_report(jobs={**self.report.jobs, job: count})


@dataclass(frozen=True, slots=True)
class GardenState:
    """Saved state of an owner's garden. The names of its fields are stored."""

    paused: bool = False
    """No cycle begins by itself."""
    going: GardenCycleProgress | None = None
    """The cycle that runs, or was interrupted."""
    reports: tuple[GardenCycleReport, ...] = ()
    """The last ten, oldest first."""
    undo: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Undo log by cycle, as ``undo.make_undo_log`` makes it."""
    usage: tuple[tuple[str, int, int], ...] = ()
    """(time, tokens, calls) of the last day."""
    failures: int = 0
    """Failed cycles in a row."""
    size: int = 0
    """Active memories after the last cycle."""
    settled: tuple[tuple[str, str], ...] = ()
    """Pairs of ids whose conflict a person decided."""

    def with_ended_cycle(self, report: GardenCycleReport, size: int) -> GardenState:
        """Return the state after a cycle; a paused one is neither a success nor a failure."""
        failures = self.failures + 1
        if report.state == "complete":
            failures = 0
        elif report.state == "paused":
            failures = self.failures
        reports = (*self.reports, report)[-_MAX_CYCLES:]
        return replace(self, going=None, reports=reports, failures=failures, size=size)

    def with_usage(self, at: datetime, tokens: int, calls: int) -> GardenState:
        """Return the state after model use; entries older than a day go."""
        recent = tuple(entry for entry in self.usage if parse_time(entry[0]) > at - _DAY)
        return replace(self, usage=(*recent, (at.isoformat(), tokens, calls)))

    def with_undo(self, cycle: str, records: list[Any], links: list[Any]) -> GardenState:
        """Return the state with more of a cycle's undo log; only the last ten cycles stay."""
        entry = self.undo.get(cycle, {"records": [], "links": []})
        entry = {"records": [*entry["records"], *records], "links": [*entry["links"], *links]}
        latest = sorted(self.undo)[-_MAX_CYCLES + 1 :]  # ids sort by time
        remaining = {id: self.undo[id] for id in latest if id != cycle}
        return replace(self, undo={**remaining, cycle: entry})


class GardenStateStore:
    """Garden states of all owners, changed by compare and swap."""

    def __init__(self, store: OwnerStateStore) -> None:
        self._store = store

    def load_row(self, owner: Scope) -> OwnerStateRow:
        """Load the row; committing a stale one conflicts."""
        return self._store.load_state(owner, GARDEN_STATE)

    def get(self, owner: Scope) -> GardenState:
        return decode_state(self.load_row(owner).data)

    def change(self, owner: Scope, change: Callable[[GardenState], GardenState]) -> GardenState:
        """Apply a change to the saved state, again where others changed it meanwhile."""
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self.load_row(owner)
            changed = change(decode_state(row.data))
            try:
                self._store.save_state(replace(row, data=encode_state(changed)), expect=row.token)
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                return changed
        raise AssertionError("unreachable")


def encode_state(state: GardenState) -> dict[str, Any]:
    return asdict(state)


def decode_state(data: Mapping[str, Any]) -> GardenState:
    progress = data.get("going")
    going = None
    if progress:
        going = GardenCycleProgress(
            _decode_report(progress["report"]), tuple(progress["done"]), progress["job"]
        )
    return GardenState(
        paused=bool(data.get("paused")),
        going=going,
        reports=tuple(_decode_report(report) for report in data.get("reports", ())),
        undo=data.get("undo", {}),
        usage=tuple((at, tokens, calls) for at, tokens, calls in data.get("usage", ())),
        failures=int(data.get("failures", 0)),
        size=int(data.get("size", 0)),
        settled=tuple((first_id, second_id) for first_id, second_id in data.get("settled", ())),
    )


def _decode_report(data: Mapping[str, Any]) -> GardenCycleReport:
    """Decode a report; fields of a later version are ignored."""
    field_names = {report_field.name for report_field in fields(GardenCycleReport)}
    values: dict[str, Any] = {
        name: tuple(value) if name == "notes" else value
        for name, value in data.items()
        if name in field_names
    }
    return GardenCycleReport(**values)
