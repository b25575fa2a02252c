"""Queue of garden cycles: entries, triggers and pauses (003)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from engrams.ports import WAKE, Job, Jobs, JobSpec, Records
from engrams.read.request import visible_scopes
from engrams.settings import GardenSettings
from engrams.types import Scope, Status

_GROWN = 1.05
"""Growth since the last cycle from which size triggers another one."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Scheduled cycle. A higher ``priority`` goes first."""

    id: str
    at: datetime
    priority: int
    why: str
    name: str


def list_entries(jobs: Jobs, owner: Scope) -> tuple[QueueEntry, ...]:
    """List an owner's entries by priority, then time; overdue ones included."""
    found = [_to_entry(job) for job in jobs.waiting(WAKE, f"{owner.key}|")]
    return tuple(sorted(found, key=lambda entry: (-entry.priority, entry.at, entry.id)))


def make_wake_job(owner: Scope, name: str, at: datetime, why: str, priority: int = 0, *, debounce: bool = False) -> JobSpec:
    """Make an entry; per ``name`` the earlier stays (``debounce``: the newer)."""
    return JobSpec(WAKE, f"{owner.key}|{name}", {"scope": owner.key, "why": why[:240]}, at, priority, debounce)


def make_trigger_jobs(owner: Scope, now: datetime, section: GardenSettings, records: Records, size: int) -> tuple[JobSpec, ...]:
    """Make the entries due after learning: by hours, idle minutes, or size.

    ``size``: active memories after the last cycle.
    """
    found = []
    if section.trigger_hours:
        found.append(
            make_wake_job(
                owner, "clock", now + timedelta(hours=section.trigger_hours), f"{section.trigger_hours:g} hours after something was learned"
            )
        )
    if section.idle_minutes:
        found.append(make_wake_job(owner, "idle", now + timedelta(minutes=section.idle_minutes), "nobody spoke", debounce=True))
    if section.trigger_memories:
        active = records.counts(visible_scopes(owner)).get("status", {}).get(Status.ACTIVE, 0)
        if active > max(section.trigger_memories, size * _GROWN):
            found.append(make_wake_job(owner, "size", now, f"more than {section.trigger_memories:,} memories"))
    return tuple(found)


def _to_entry(job: Job) -> QueueEntry:
    return QueueEntry(job.id, job.due, job.priority, str(job.payload.get("why", "")), job.key.rpartition("|")[2])


_DOUBLED = 6
"""Failures after which the pause grows no further: 64 times (003)."""


def compute_pause(asked: float | None, left: int | None, failures: int, section: GardenSettings) -> float:
    """Return the minutes until the next cycle.

    ``asked``: the model's wish (None: it named nothing). ``left``: tokens left today (None: unknown). ``failures``: failed cycles in a
    row. Always within ``least_minutes`` and ``most_minutes``; the longest where nothing is known about limits or nothing is left; twice
    as long with each failure, 64 times at most (003).
    """
    if left is None or left <= 0:
        return section.max_pause_minutes
    wish = section.pause_minutes if asked is None else asked
    shortest = max(min(wish, section.max_pause_minutes), section.min_pause_minutes)
    return min(shortest * 2.0 ** min(max(failures, 0), _DOUBLED), section.max_pause_minutes)


def compute_allowance(left: int | None, section: GardenSettings) -> int:
    """Return a cycle's token budget, capped by a share of today's (003)."""
    if left is None:
        return section.model_tokens
    return max(min(section.model_tokens, int(left * section.budget_share)), 0)
