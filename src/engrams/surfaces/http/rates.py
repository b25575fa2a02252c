"""Limits of requests: how many a caller may send a second, and how wrong keys are slowed.

`RequestRates` holds all counters; each is shared by the processes of one server.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict

from engrams.api_keys import ApiKey, RequestQuotaCounter
from engrams.core.process_peers import ProcessPeers
from engrams.settings import QuotaSettings

_BURST_SECONDS = 10
"""A caller that was silent may send as many requests at once as it may in this time."""
_MAX_CALLERS = 10_000
"""Callers that are counted; the one not heard of for longest is forgotten."""
_WRONG_KEY_DELAY = 0.1
"""Seconds by which each wrong key of an address delays the answer to the next."""
_MAX_DELAY = 2.0
_FORGET_SECONDS = 60.0
"""Seconds after which the wrong keys of an address no longer count."""


class CallerRateLimiter:
    """Token bucket per caller.

    ``rate``: requests a second, in bursts of ten times as many; 0: no limit.
    """

    def __init__(self, rate: float, peers: ProcessPeers, name: str) -> None:
        self._rate = rate
        self._capacity = max(1.0, rate * _BURST_SECONDS)
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Caller -> tokens, and when (monotonic) they were counted."""
        self._count_at_peers = peers.share(name, self._count)

    def acquire(self, caller: str) -> int:
        """Count a request; return whole seconds to wait, 0 for none."""
        if not self._rate:
            return 0
        self._count_at_peers(caller)
        return self._count(caller)

    def _count(self, caller: str) -> int:
        now = time.monotonic()
        with self._lock:
            tokens, counted_at = self._buckets.get(caller, (self._capacity, now))
            tokens = min(self._capacity, tokens + (now - counted_at) * self._rate)
            self._buckets[caller] = (tokens - 1 if tokens >= 1 else tokens, now)
            self._buckets.move_to_end(caller)
            if len(self._buckets) > _MAX_CALLERS:
                self._buckets.popitem(last=False)
        return 0 if tokens >= 1 else math.ceil((1 - tokens) / self._rate)


class WrongKeyBackoff:
    """Growing delay of wrong keys, by address; up to two seconds."""

    def __init__(self, peers: ProcessPeers) -> None:
        self._addresses: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """Address -> its wrong keys, and when (monotonic) the last one came."""
        self._count_at_peers = peers.share("wrong keys", self._count)

    def add(self, address: str) -> float:
        """Count a wrong key; return the seconds to wait before the answer."""
        self._count_at_peers(address)
        return self._count(address)

    def _count(self, address: str) -> float:
        now = time.monotonic()
        count, last_at = self._addresses.pop(address, (0, now))
        count = count + 1 if now - last_at < _FORGET_SECONDS else 1
        self._addresses[address] = (count, now)
        if len(self._addresses) > _MAX_CALLERS:
            self._addresses.popitem(last=False)
        return min(_MAX_DELAY, _WRONG_KEY_DELAY * count)


class RequestRates:
    """Counters of requests and wrong keys, of all processes of a server.

    ``counter``: of the quotas of owners and keys, of all servers on the memory.
    """

    def __init__(
        self, rate: float, peers: ProcessPeers, counter: RequestQuotaCounter, quota: QuotaSettings
    ) -> None:
        self._counter = counter
        self._owner_limits = (quota.minute_requests, quota.daily_requests)
        self.callers = CallerRateLimiter(rate, peers, "requests")
        self.audited_refusals = CallerRateLimiter(1, peers, "refusals")
        self.wrong_keys = WrongKeyBackoff(peers)

    def is_limited(self, key: ApiKey) -> bool:
        """Return True if requests of a key count against a quota."""
        return any((*self._owner_limits, key.minute_requests, key.daily_requests))

    def charge(self, key: ApiKey) -> None:
        """Count a request of a key.

        BudgetError: its quota, or that of its owner, is used up.
        """
        key_limits = (key.minute_requests, key.daily_requests)
        self._counter.acquire(
            key.id, key_limits, "a key made with larger `--minute-requests` and `--daily-requests`"
        )
        self._counter.acquire(
            key.owner.key, self._owner_limits, "`quota.minute_requests` or `quota.daily_requests`"
        )
