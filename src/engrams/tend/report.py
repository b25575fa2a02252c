"""Statistics of memories, jobs and model use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engrams.ports import Ledger, Store
from engrams.read.request import visible_scopes
from engrams.settings import ChatSettings, Settings
from engrams.types import Scope

_DEAD, _LIVE = 100, 1000


def build_stats(store: Store, scope: Scope | None, settings: Settings, models: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Count memories, vectors and scopes; add today's model use.

    Memories by status, kind, layer and tier; vectors by model."""
    counts = store.counts(None if scope is None else visible_scopes(scope))
    scopes = store.scopes(None if scope is None else scope.owner)
    return {**counts, "embedder": models["embedder"], "scopes": len(scopes), "spent": load_spend(store, settings.chat, now)}


def build_status(store: Store, settings: Settings, models: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Count jobs, with lag, dead jobs and today's model use.

    ``jobs``: by kind and state. ``lag_seconds``: how long the oldest has been due. ``dead``: each with its error."""
    dead, live = store.queue(("dead",), _DEAD), store.queue(("waiting", "running"), _LIVE)
    due = (max(job.created_at, job.due) for job in live if job.created_at)
    oldest = min((moment for moment in due if moment <= now), default=None)
    return {
        "jobs": store.workload(),
        "lag_seconds": max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        "dead": [{"id": job.id, "kind": job.kind, "key": job.key, "attempt": job.attempt, "error": job.error} for job in dead],
        **models,
        "spent": load_spend(store, settings.chat, now),
        "test": settings.test,
    }


def load_spend(ledger: Ledger, settings: ChatSettings, now: datetime) -> dict[str, int]:
    """Return today's (UTC) model calls and tokens, with limits (0: none)."""
    calls, tokens = ledger.spend(now.astimezone(UTC).date().isoformat(), 0, 0)
    return {"calls": calls, "tokens": tokens, "daily_calls": settings.daily_calls, "daily_tokens": settings.daily_tokens}
