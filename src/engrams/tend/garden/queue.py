"""When cycles begin: entries of the queue, and what puts them there (003)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from engrams.ports import WAKE, Job, Jobs, JobSpec, Records
from engrams.read.request import visible_scopes
from engrams.settings import GardenSettings
from engrams.types import Scope, Status

_GROWN = 1.05
"""How much larger a memory must be than after its last cycle to be too large again."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One time at which a cycle is to begin. A higher ``priority`` goes first."""

    id: str
    at: datetime
    priority: int
    why: str
    name: str


def list_entries(jobs: Jobs, owner: Scope) -> tuple[QueueEntry, ...]:
    """The owner's entries: the highest priority first, then the earliest. What is overdue is still to come."""
    found = [_to_entry(job) for job in jobs.waiting(WAKE, f"{owner.key}|")]
    return tuple(sorted(found, key=lambda entry: (-entry.priority, entry.at, entry.id)))


def make_wake_job(owner: Scope, name: str, at: datetime, why: str, priority: int = 0, *, debounce: bool = False) -> JobSpec:
    """An entry. Of one ``name`` there is one: the earlier time counts, with ``debounce`` the newer."""
    return JobSpec(WAKE, f"{owner.key}|{name}", {"scope": owner.key, "why": why[:240]}, at, priority, debounce)


def make_trigger_jobs(owner: Scope, now: datetime, section: GardenSettings, records: Records, size: int) -> tuple[JobSpec, ...]:
    """What learning something asks for: a cycle after some hours, after some minutes of quiet, or at once, where memory has grown
    too large. ``size``: active memories after the last cycle."""
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
