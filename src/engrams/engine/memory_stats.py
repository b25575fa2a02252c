"""Numbers about memory: how much is stored, what models spent today, how much of a quota is used.

``MemoryInspector.stats`` calls ``build_stats``; the status of jobs (``job_status``) shows the same
spend.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engrams.core import Kind, Layer, Scope, Status
from engrams.core.usage_accounts import name_account
from engrams.ports import UNCOUNTED, ModelUsageLedger, RecordQuery, Store
from engrams.read.request import visible_scopes
from engrams.settings import ChatSettings, QuotaSettings, Settings, UpkeepSettings

_MAX_SCOPES = 100
"""Scopes whose memories are counted one by one."""


def build_stats(
    store: Store, scope: Scope | None, settings: Settings, models: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Count memories, vectors and scopes; add today's model use and the quota.

    Memories by status, kind, layer and tier, and active ones by scope; vectors by model, and the
    share of memories that have one of the current model. A note counts in no layer while a
    statement that was learned from it stands for it, nor if no search finds it.
    """
    counts = store.counts(None if scope is None else visible_scopes(scope))
    if scope is not None:
        active_layers = dict(counts["active_layers"])
        notes = RecordQuery(visible_scopes(scope), (Kind.NOTE,), where=UNCOUNTED)
        uncounted = store.count(notes) if counts["kind"].get(Kind.NOTE) else 0
        if uncounted:
            active_layers[Layer.SEMANTIC] -= uncounted
        counts = {**counts, "active_layers": active_layers}
    scopes = store.scopes(None if scope is None else scope.owner)
    quota = {} if scope is None else measure_quota(store, scope.owner, settings.quota, now)
    stored = sum(number for status, number in counts["status"].items() if status != Status.PURGED)
    vectors = counts["model"].get(models["embedder"], 0)
    return {
        **counts,
        "scope": {} if scope is None else _count_by_scope(store, scope),
        "embedder": models["embedder"],
        "embedded": round(min(1.0, vectors / stored), 4) if stored else 0.0,
        "scopes": len(scopes),
        "spent": load_spend(store, settings.chat, now),
        "quota": quota,
    }


def _count_by_scope(store: Store, scope: Scope) -> dict[str, int]:
    """Count active memories by key of the scope; of a part of memory, of what is visible from it."""
    counts = store.count_scopes(scope.owner)
    visible = [counted for counted in counts if scope.is_owner or counted in scope.chain()]
    return {counted.key: counts[counted] for counted in visible[:_MAX_SCOPES]}


def measure_quota(
    store: Store, owner: Scope, quota: QuotaSettings, now: datetime
) -> dict[str, dict[str, int]]:
    """Measure an owner's use of each limit; keys are the names of the settings."""
    account = name_account(owner.key)
    utc_now = now.astimezone(UTC)
    stored = store.storage(owner)
    calls, tokens = store.spend(f"{utc_now.date()} {account}", 0, 0)
    minute_requests = 0
    if quota.minute_requests:
        minute_requests = store.count_requests("minute", utc_now, account, 0)
    daily_requests = 0
    if quota.daily_requests:
        daily_requests = store.count_requests("day", utc_now, account, 0)
    used = {
        "records": stored.records,
        "bytes": stored.bytes,
        "minute_requests": minute_requests,
        "daily_requests": daily_requests,
        "daily_calls": calls,
        "daily_tokens": tokens,
    }
    return {name: {"used": number, "limit": getattr(quota, name)} for name, number in used.items()}


def load_spend(
    ledger: ModelUsageLedger,
    settings: ChatSettings | UpkeepSettings,
    now: datetime,
    account: str = "",
) -> dict[str, int]:
    """Return today's (UTC) model calls and tokens, with their limits (0: none)."""
    # Adding nothing to an account of the ledger returns its sums.
    calls, tokens = ledger.spend(f"{now.astimezone(UTC).date()}{account}", 0, 0)
    return {
        "calls": calls,
        "tokens": tokens,
        "daily_calls": settings.daily_calls,
        "daily_tokens": settings.daily_tokens,
    }
