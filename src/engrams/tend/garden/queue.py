"""Queue of garden cycles, and the events that add entries (003)."""

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
