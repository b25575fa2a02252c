"""Status of jobs: counts, lag, dead jobs, what each does now, and why upkeep waits.

``MemoryInspector.status`` calls ``build_status``, ``MemoryInspector.describe_job`` calls
``describe_job``; so ``engrams status`` and the job list of the HTTP surface say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from engrams.engine.memory_stats import load_spend
from engrams.ports import EXTRACT, KEPT, Job, ModelUsageLedger, Store, UpkeepGatekeeper
from engrams.settings import Settings
from engrams.write.extraction_jobs import NEVER

_MAX_DEAD = 100
"""Dead jobs that a status lists."""
_MAX_LIVE = 1000
"""Waiting and running jobs that a status looks at."""
_QUEUE_HORIZON = timedelta(hours=1)
"""How far ahead a job may be due to count for the estimate of the queue."""


def build_status(
    store: Store,
    settings: Settings,
    models: Mapping[str, str],
    now: datetime,
    upkeep: UpkeepGatekeeper,
) -> dict[str, Any]:
    """Count jobs, with lag, dead jobs and today's model use.

    Keys:

    - ``jobs``: counts by kind and state; ``due``: by kind, those that run or could.
    - ``lag_seconds``: how long the oldest job has been due.
    - ``dead``: dead jobs, each with its error.
    - ``active``: jobs that run or were tried, as ``describe_job`` has them.
    - ``gathering``: conversations that are still too short to learn from.
    - ``resting``: conversations that are learned from when nothing was said for a while.
    - ``pace``: seconds of the model's last answers.
    - ``mistakes``: what the model's answers got wrong, by reason, since the home began.
    - ``queue_seconds``: estimate for the extractions due within an hour.
    - ``upkeep``: as ``describe_upkeep``.
    """
    dead_jobs = store.queue(("dead",), _MAX_DEAD)
    live_jobs = store.queue(("waiting", "running"), _MAX_LIVE)
    upkeep_state = describe_upkeep(live_jobs, store, settings, now, upkeep)
    # Upkeep jobs that may not start now are neither due nor late.
    suspended = upkeep.kinds if upkeep_state["reason"] else frozenset()
    due_counts = Counter(
        job.kind
        for job in live_jobs
        if job.state == "running" or (job.due <= now and job.kind not in suspended)
    )
    pace = load_pace(store, models["chat"])
    soon = [job for job in live_jobs if job.due <= now + _QUEUE_HORIZON]
    return {
        "jobs": store.workload(),
        "due": dict(due_counts),
        "lag_seconds": _measure_lag(live_jobs, suspended, now),
        "dead": [_describe_dead_job(job) for job in dead_jobs],
        "active": [
            describe_job(job, now, upkeep)
            for job in live_jobs
            if job.state == "running" or job.attempt
        ],
        "gathering": sum(is_gathering(job, now) for job in live_jobs),
        "resting": sum(_is_resting(job, now) for job in live_jobs),
        **models,
        "pace": pace,
        "mistakes": dict(store.load_mistakes(models["chat"])) if models["chat"] else {},
        "queue_seconds": estimate_queue(soon, pace["median_seconds"], settings),
        "upkeep": upkeep_state,
        "spent": load_spend(store, settings.chat, now),
        "test": settings.test,
    }


def _measure_lag(jobs: Iterable[Job], suspended: frozenset[str], now: datetime) -> float:
    """Return the seconds since the oldest job became due; 0: none is late."""
    due_times = [
        max(job.created_at, job.due)
        for job in jobs
        if job.created_at and (job.kind not in suspended or job.state == "running")
    ]
    oldest = min((moment for moment in due_times if moment <= now), default=None)
    return max(0.0, (now - oldest).total_seconds()) if oldest else 0.0


def _describe_dead_job(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "key": job.key,
        "attempt": job.attempt,
        "error": job.error,
    }


def describe_upkeep(
    jobs: Sequence[Job], store: Store, settings: Settings, now: datetime, upkeep: UpkeepGatekeeper
) -> dict[str, Any]:
    """Describe which upkeep jobs wait, and for what.

    Keys: ``waiting``, due jobs by kind; ``reason``, empty where nothing has to wait; ``until``, the
    end of the wait, where it is known; and today's spend of upkeep.
    """
    obstacle = upkeep.find_obstacle()
    waiting: Counter[str] = Counter()
    if obstacle:
        waiting.update(job.kind for job in jobs if _is_due_upkeep(job, now, upkeep))
    return {
        "waiting": dict(waiting),
        "reason": obstacle.reason if obstacle else "",
        "until": obstacle.until if obstacle else None,
        **load_spend(store, settings.upkeep, now, " upkeep"),
    }


def _is_due_upkeep(job: Job, now: datetime, upkeep: UpkeepGatekeeper) -> bool:
    return job.state == "waiting" and job.due <= now and job.kind in upkeep.kinds


def load_pace(ledger: ModelUsageLedger, model: str) -> dict[str, float]:
    """Return the median and the longest seconds of a model's last answers."""
    answer_seconds = ledger.load_pace(model) if model else ()
    return {
        "answers": len(answer_seconds),
        "median_seconds": median(answer_seconds) if answer_seconds else 0.0,
        "longest_seconds": max(answer_seconds, default=0.0),
    }


def describe_job(job: Job, now: datetime, upkeep: UpkeepGatekeeper) -> dict[str, Any]:
    """Describe what a job does, its next run and its error.

    ``due`` is None for a job that waits for more of its conversation.
    """
    age = max(0.0, (now - (job.created_at or job.due)).total_seconds())
    return {
        "id": job.id,
        "kind": job.kind,
        "key": job.key,
        "state": job.state,
        "doing": _describe_activity(job, now, upkeep),
        "attempt": job.attempt,
        "age_seconds": age,
        "error": job.error,
        "due": None if is_gathering(job, now) else job.due,
    }


def _describe_activity(job: Job, now: datetime, upkeep: UpkeepGatekeeper) -> str:
    if _is_due_upkeep(job, now, upkeep):
        obstacle = upkeep.find_obstacle()
        if obstacle is not None:
            return f"waiting: {obstacle.reason}"
    if job.state == "waiting":
        if job.error:
            return "waiting to try again"
        if is_gathering(job, now):
            return "waiting for more of the conversation"
        return "waiting"
    if job.kind == EXTRACT:
        stage = "reconciling" if job.payload.get(KEPT) else "extracting"
        return f"{stage} {len(job.payload.get('items', ()))} turns"
    return "running"


def is_gathering(job: Job, now: datetime) -> bool:
    """Test for a job that waits for more of its conversation.

    Such a job is due in ``NEVER``: only another turn, or the end of the session, makes it due.
    """
    return job.state == "waiting" and job.kind == EXTRACT and job.due > now + NEVER / 2


def _is_resting(job: Job, now: datetime) -> bool:
    """Test for an extraction that waits until nothing was said for a while."""
    is_ahead = job.state == "waiting" and job.kind == EXTRACT and job.due > now
    return is_ahead and not job.error and not is_gathering(job, now)


def estimate_queue(jobs: Sequence[Job], answer_seconds: float, settings: Settings) -> float:
    """Estimate the seconds until these extractions are done.

    Each batch of turns takes two answers of the model (extract and reconcile). Workers share the
    jobs, but a single job runs its batches one after the other, so the longest job is a lower
    bound.
    """
    if settings.write.extract in ("off", "rules"):
        return 0.0
    batch_counts = [
        -(-len(job.payload.get("items", ())) // settings.write.batch_turns)
        for job in jobs
        if job.kind == EXTRACT
    ]
    if not batch_counts:
        return 0.0
    shared = sum(batch_counts) / max(settings.jobs.workers, 1)
    return 2 * answer_seconds * max(shared, *batch_counts)
