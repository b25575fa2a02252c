"""Schedule of cycles: the queue, what triggers a cycle, and how long pauses and budgets are.

A scheduled cycle is a waiting job of kind ``WAKE``, keyed ``{owner}|{name}``: one per name. When it
is due it becomes a job of kind ``GARDEN``, which runs the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from engrams.core import Scope, Status
from engrams.ports import WAKE, Job, JobQueue, JobSpec, RecordStore
from engrams.read.request import visible_scopes
from engrams.settings import GardenSettings

_MIN_GROWTH = 1.05
"""Factor on the size after the last cycle from which size triggers another one."""
_MAX_DOUBLINGS = 6
"""Failures after which the pause grows no further: 64 times."""
_MAX_REASON = 240
ANSWER_TOKENS = 1024
"""Tokens of one answer of the model; with fewer it is not asked."""


@dataclass(frozen=True, slots=True)
class ScheduledGardenCycle:
    """Scheduled cycle."""

    id: str
    at: datetime
    priority: int
    """The higher goes first."""
    why: str
    name: str
    """Its slot: ``next``, ``clock``, ``idle``, ``size``, or an id of its own."""


def list_scheduled(jobs: JobQueue, owner: Scope) -> tuple[ScheduledGardenCycle, ...]:
    """List an owner's scheduled cycles by priority, then time."""
    scheduled = [_to_scheduled_cycle(job) for job in jobs.waiting(WAKE, f"{owner.key}|")]
    return tuple(sorted(scheduled, key=lambda cycle: (-cycle.priority, cycle.at, cycle.id)))


def _to_scheduled_cycle(job: Job) -> ScheduledGardenCycle:
    return ScheduledGardenCycle(
        id=job.id,
        at=job.due,
        priority=job.priority,
        why=str(job.payload.get("why", "")),
        name=job.key.rpartition("|")[2],
    )


def make_wake_job(
    owner: Scope, name: str, at: datetime, why: str, priority: int = 0, *, debounce: bool = False
) -> JobSpec:
    """Make the job of a scheduled cycle.

    ``debounce``: another job of the same name postpones it.
    """
    return JobSpec(
        kind=WAKE,
        key=f"{owner.key}|{name}",
        payload={"scope": owner.key, "why": why[:_MAX_REASON]},
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
    jobs = []
    if section.trigger_hours:
        due = now + timedelta(hours=section.trigger_hours)
        why = f"{section.trigger_hours:g} hours after something was learned"
        jobs.append(make_wake_job(owner, "clock", due, why))
    if section.idle_minutes:
        due = now + timedelta(minutes=section.idle_minutes)
        jobs.append(make_wake_job(owner, "idle", due, "nobody spoke", debounce=True))
    if section.trigger_memories:
        active = records.counts(visible_scopes(owner)).get("status", {}).get(Status.ACTIVE, 0)
        if active > max(section.trigger_memories, size * _MIN_GROWTH):
            why = f"more than {section.trigger_memories:,} memories"
            jobs.append(make_wake_job(owner, "size", now, why))
    return tuple(jobs)


def compute_pause(
    requested: float | None, tokens_left: int | None, failures: int, section: GardenSettings
) -> float:
    """Return the minutes until the next cycle, as docs/guides/garden.md describes them.

    ``requested``: minutes that the model asked for (None: it named nothing). ``tokens_left``: of
    today (None: unknown). ``failures``: failed cycles in a row.

    It is within ``garden.min_pause_minutes`` and ``garden.max_pause_minutes``: the longest where
    nothing is known about limits or too little is left for an answer; twice as long with each failure, 64 times at
    most.
    """
    if tokens_left is None or is_day_spent(tokens_left, section):
        return section.max_pause_minutes
    wanted = section.pause_minutes if requested is None else requested
    shortest = max(min(wanted, section.max_pause_minutes), section.min_pause_minutes)
    doublings = min(max(failures, 0), _MAX_DOUBLINGS)
    return min(shortest * 2.0**doublings, section.max_pause_minutes)


def is_day_spent(tokens_left: int | None, section: GardenSettings) -> bool:
    """Return True where the share of today's tokens is too small for an answer."""
    return tokens_left is not None and int(tokens_left * section.budget_share) < ANSWER_TOKENS


def compute_allowance(tokens_left: int | None, section: GardenSettings) -> int:
    """Return a cycle's token budget: ``garden.model_tokens``, capped by a share of today's."""
    if tokens_left is None:
        return section.model_tokens
    return max(min(section.model_tokens, int(tokens_left * section.budget_share)), 0)
