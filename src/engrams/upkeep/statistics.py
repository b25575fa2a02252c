"""Statistics of memories, jobs and model use."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from engrams.core import Scope
from engrams.core.usage_accounts import name_account
from engrams.ports import (
    EXTRACT,
    KEPT,
    Job,
    ModelUsageLedger,
    Store,
    UpkeepGatekeeper,
)
from engrams.read.request import visible_scopes
from engrams.settings import ChatSettings, QuotaSettings, Settings, UpkeepSettings
from engrams.write.extraction_timing import NEVER

_DEAD = 100
_LIVE = 1000
_SOON = timedelta(hours=1)


def build_stats(
    store: Store, scope: Scope | None, settings: Settings, models: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Count memories, vectors and scopes; add today's model use and the quota.

    Memories by status, kind, layer and tier; vectors by model.
    """
    counts = store.counts(None if scope is None else visible_scopes(scope))
    scopes = store.scopes(None if scope is None else scope.owner)
    quota = {} if scope is None else measure_quota(store, scope.owner, settings.quota, now)
    spent = load_spend(store, settings.chat, now)
    return {
        **counts,
        "embedder": models["embedder"],
        "scopes": len(scopes),
        "spent": spent,
        "quota": quota,
    }


def measure_quota(
    store: Store, owner: Scope, quota: QuotaSettings, now: datetime
) -> dict[str, dict[str, int]]:
    """Measure an owner's use of each limit, by its setting."""
    account = name_account(owner.key)
    moment = now.astimezone(UTC)
    stored = store.storage(owner)
    calls, tokens = store.spend(f"{moment.date()} {account}", 0, 0)
    used = {
        "records": stored.records,
        "bytes": stored.bytes,
        "minute_requests": store.count_requests("minute", moment, account, 0)
        if quota.minute_requests
        else 0,
        "daily_requests": store.count_requests("day", moment, account, 0)
        if quota.daily_requests
        else 0,
        "daily_calls": calls,
        "daily_tokens": tokens,
    }
    return {name: {"used": number, "limit": getattr(quota, name)} for name, number in used.items()}


def build_status(
    store: Store,
    settings: Settings,
    models: Mapping[str, str],
    now: datetime,
    upkeep: UpkeepGatekeeper,
) -> dict[str, Any]:
    """Count jobs, with lag, dead jobs and today's model use.

    ``jobs``: by kind and state; ``due``: by kind, those that run or could. ``lag_seconds``: how
    long the oldest has been due. ``dead``: each with its error. ``active``: those that run or were
    tried, each with what it does now. ``gathering``: how many conversations are still too short to
    learn from. ``pace``: seconds of the model's answers, ``queue_seconds``: of what waits for it.
    ``upkeep``: what waits for its hours, its budget or the model, with the reason and the end.
    """
    dead = store.queue(("dead",), _DEAD)
    live = store.queue(("waiting", "running"), _LIVE)
    waits = describe_upkeep(live, store, settings, now, upkeep)
    held = upkeep.kinds if waits["reason"] else frozenset()
    due = (
        max(job.created_at, job.due)
        for job in live
        if job.created_at and (job.kind not in held or job.state == "running")
    )
    work = Counter(
        job.kind
        for job in live
        if job.state == "running" or (job.due <= now and job.kind not in held)
    )
    oldest = min((moment for moment in due if moment <= now), default=None)
    pace = load_pace(store, models["chat"])
    return {
        "jobs": store.workload(),
        "due": dict(work),
        "lag_seconds": max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        "dead": [
            {
                "id": job.id,
                "kind": job.kind,
                "key": job.key,
                "attempt": job.attempt,
                "error": job.error,
            }
            for job in dead
        ],
        "active": [
            describe_job(job, now, upkeep) for job in live if job.state == "running" or job.attempt
        ],
        "gathering": sum(is_gathering(job, now) for job in live),
        **models,
        "pace": pace,
        "queue_seconds": estimate_queue(
            [job for job in live if job.due <= now + _SOON], pace["median_seconds"], settings
        ),
        "upkeep": waits,
        "spent": load_spend(store, settings.chat, now),
        "test": settings.test,
    }


def describe_upkeep(
    jobs: Sequence[Job], store: Store, settings: Settings, now: datetime, upkeep: UpkeepGatekeeper
) -> dict[str, Any]:
    """Describe which upkeep jobs wait, and for what.

    ``waiting``: due jobs by kind. ``reason``: empty where nothing has to wait. ``until``: its end,
    where that is known.
    """
    due = Counter(job.kind for job in jobs if _is_held(job, now, upkeep))
    obstacle = upkeep.find_obstacle()
    told = {
        "reason": obstacle.reason if obstacle else "",
        "until": obstacle.until if obstacle else None,
    }
    return {
        "waiting": dict(due) if obstacle else {},
        **told,
        **load_spend(store, settings.upkeep, now, " upkeep"),
    }


def _is_held(job: Job, now: datetime, upkeep: UpkeepGatekeeper) -> bool:
    return job.state == "waiting" and job.due <= now and job.kind in upkeep.kinds


def load_spend(
    ledger: ModelUsageLedger,
    settings: ChatSettings | UpkeepSettings,
    now: datetime,
    account: str = "",
) -> dict[str, int]:
    """Return today's (UTC) model calls and tokens, with limits (0: none)."""
    calls, tokens = ledger.spend(f"{now.astimezone(UTC).date()}{account}", 0, 0)
    return {
        "calls": calls,
        "tokens": tokens,
        "daily_calls": settings.daily_calls,
        "daily_tokens": settings.daily_tokens,
    }


def load_pace(ledger: ModelUsageLedger, model: str) -> dict[str, float]:
    """Return the median and the longest seconds of a model's last answers."""
    took = ledger.load_pace(model) if model else ()
    return {
        "answers": len(took),
        "median_seconds": statistics.median(took) if took else 0.0,
        "longest_seconds": max(took, default=0.0),
    }


def describe_job(job: Job, now: datetime, upkeep: UpkeepGatekeeper) -> dict[str, Any]:
    """Describe what a job does, its next run and error.

    ``due`` None: when more of its conversation is there.
    """
    count = len(job.payload.get("items", ()))
    stage = "reconciling" if job.payload.get(KEPT) else "extracting"
    if job.error:
        waits = "waiting to try again"
    elif is_gathering(job, now):
        waits = "waiting for more of the conversation"
    else:
        waits = "waiting"
    if job.state == "waiting":
        doing = waits
    elif job.kind == EXTRACT:
        doing = f"{stage} {count} turns"
    else:
        doing = "running"
    if _is_held(job, now, upkeep) and (obstacle := upkeep.find_obstacle()) is not None:
        doing = f"waiting: {obstacle.reason}"
    age = max(0.0, (now - (job.created_at or job.due)).total_seconds())
    return {
        "id": job.id,
        "kind": job.kind,
        "key": job.key,
        "state": job.state,
        "doing": doing,
        "attempt": job.attempt,
        "age_seconds": age,
        "error": job.error,
        "due": None if is_gathering(job, now) else job.due,
    }


def is_gathering(job: Job, now: datetime) -> bool:
    """Test for a job that waits for more of its conversation."""
    return job.state == "waiting" and job.kind == EXTRACT and job.due > now + NEVER / 2


def estimate_queue(jobs: Sequence[Job], seconds: float, settings: Settings) -> float:
    """Estimate the seconds until these extractions are done.

    Two answers for each batch of turns; workers share the jobs.
    """
    if settings.write.extract in ("off", "rules"):
        return 0.0
    batches = [
        -(-len(job.payload.get("items", ())) // settings.write.batch_turns)
        for job in jobs
        if job.kind == EXTRACT
    ]
    return max(
        [
            2 * seconds * sum(batches) / max(settings.jobs.workers, 1),
            *(2 * seconds * count for count in batches),
        ],
        default=0.0,
    )
