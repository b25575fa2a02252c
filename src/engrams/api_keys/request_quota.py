"""Quotas of requests of an owner or key, over all processes of a fleet."""

from __future__ import annotations

import math
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from threading import Lock

from engrams.core.usage_accounts import WINDOWS, RequestWindow, name_account
from engrams.errors import BudgetError
from engrams.ports import Clock, RequestLedger

_PARCELS = 50
"""Parts of a quota that a process takes at once.

So a small quota is counted request by request, and a large one needs no write for each request.
"""
_MAX_ACCOUNTS = 10_000
"""Accounts and windows whose parcels a process remembers."""


class RequestQuotaCounter:
    """Counter of requests in the store, for all processes and over restarts.

    A process that ends leaves the rest of its parcels unused: a fiftieth of the quota at most.
    """

    def __init__(self, ledger: RequestLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lock = Lock()
        self._remaining: OrderedDict[tuple[RequestWindow, str, str], int] = OrderedDict()
        """Requests that are left of a parcel, by window and account.

        -1: the quota is used up, and the store is not asked again until the window ends.
        """

    def acquire(self, name: str, limits: tuple[int, int], setting: str) -> None:
        """Count a request of an owner or key.

        ``limits``: requests a minute and a day; 0: no limit. ``setting``: what raises the limit, for
        the error. BudgetError: a limit is reached.
        """
        now = self._clock().astimezone(UTC)
        account = name_account(name)
        for window, limit in zip(WINDOWS, limits, strict=True):
            if limit and not self._take(window, now, account, limit):
                seconds = math.ceil(_find_window_end(window, now) - now.timestamp())
                raise BudgetError(
                    f"All {limit:,} requests of this {window} are used.",
                    hint=f"Continue in {seconds:,} s; {setting} raises the limit.",
                    retry_after=seconds,
                )

    def _take(self, window: RequestWindow, now: datetime, account: str, limit: int) -> bool:
        """Take one request of the quota. False: none is left."""
        key = (window, WINDOWS[window](now), account)
        with self._lock:
            remaining = self._remaining.pop(key, 0)
            if remaining == 0:
                remaining = self._take_parcel(window, now, account, limit)
            self._remaining[key] = remaining - 1 if remaining > 0 else -1
            while len(self._remaining) > _MAX_ACCOUNTS:
                self._remaining.popitem(last=False)
        return remaining > 0

    def _take_parcel(self, window: RequestWindow, now: datetime, account: str, limit: int) -> int:
        """Take a part of the quota from the store; return its requests, 0 or less for none."""
        parcel = max(1, limit // _PARCELS)
        total = self._ledger.count_requests(window, now, account, parcel)
        return min(parcel, limit - (total - parcel))


def _find_window_end(window: RequestWindow, now: datetime) -> float:
    """Return the end of a window in seconds since 1970."""
    if window == "minute":
        return (now.replace(second=0, microsecond=0) + timedelta(minutes=1)).timestamp()
    return (now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)).timestamp()
