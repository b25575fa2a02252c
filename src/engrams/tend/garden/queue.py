"""When cycles begin: entries of the queue, and what puts them there (003)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from engrams.ports import WAKE, Job, Jobs, JobSpec, Records
from engrams.read.request import reach
from engrams.settings.garden import GardenSettings
from engrams.types import Scope, Status

_GROWN = 1.05
"""How much larger a memory must be than after its last cycle to be too large again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One time at which a cycle is to begin. A higher ``priority`` goes first."""

    id: str
    at: datetime
    priority: int
    why: str
    name: str


def waiting(jobs: Jobs, owner: Scope) -> tuple[Entry, ...]:
    """The owner's entries: the highest priority first, then the earliest. What is overdue is still to come."""
    found = [_entry(job) for job in jobs.waiting(WAKE, f"{owner.key}|")]
    return tuple(sorted(found, key=lambda entry: (-entry.priority, entry.at, entry.id)))


def wake(owner: Scope, name: str, at: datetime, why: str, priority: int = 0, *, debounce: bool = False) -> JobSpec:
    """An entry. Of one ``name`` there is one: the earlier time counts, with ``debounce`` the newer."""
    return JobSpec(WAKE, f"{owner.key}|{name}", {"scope": owner.key, "why": why[:240]}, at, priority, debounce)


def triggers(owner: Scope, now: datetime, section: GardenSettings, records: Records, size: int) -> tuple[JobSpec, ...]:
    """What learning something asks for: a cycle after some hours, after some minutes of quiet, or at once, where memory has grown
    too large. ``size``: active memories after the last cycle."""
    found = []
    if section.hours:
        found.append(wake(owner, "clock", now + timedelta(hours=section.hours), f"{section.hours:g} hours after something was learned"))
    if section.idle_minutes:
        found.append(wake(owner, "idle", now + timedelta(minutes=section.idle_minutes), "nobody spoke", debounce=True))
    if section.size:
        active = records.counts(reach(owner)).get("status", {}).get(Status.ACTIVE, 0)
        if active > max(section.size, size * _GROWN):
            found.append(wake(owner, "size", now, f"more than {section.size:,} memories"))
    return tuple(found)


def _entry(job: Job) -> Entry:
    return Entry(job.id, job.due, job.priority, str(job.payload.get("why", "")), job.key.rpartition("|")[2])
