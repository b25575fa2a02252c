"""API keys: authentication, rights and rate limits."""

from __future__ import annotations

import asyncio
import json
import math
import shlex
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engrams.api_keys import PREFIX, ApiKey, ApiKeyStore, RequestQuotaCounter
from engrams.core.process_peers import ProcessPeers
from engrams.errors import BudgetError, StoreError
from engrams.ports import Clock
from engrams.settings import QuotaSettings
from engrams.surfaces.http.permissions import OPEN, PROXY, OperationPermission, find_permission
from engrams.surfaces.http.rest.caller import KEY, OWNER, REFUSED_KEY, RELAY
from engrams.surfaces.http.rest.errors import make_problem
from engrams.surfaces.http.telemetry import to_problem

if TYPE_CHECKING:
    from engrams.admin import AuditLog

_KEY_HEADERS = (b"authorization", b"x-api-key", b"x-engrams-key")
_OWNER_HEADER = b"x-engrams-owner"
_BURST = 10
_MAX_CALLERS = 10_000
_DELAY = 0.1
_MAX_DELAY = 2.0
_FORGET = 60.0
"""Seconds by which each wrong key slows its address, at most, and after which it no longer counts.
"""
_HINT = "Send `Authorization: Bearer engrams_…`; `engrams keys add` makes a key."


class ApiKeyMiddleware:
    """Authenticate requests by API key and check the key's rights.

    The key decides the owner here and only here: every engine call is bound to that owner, and the
    proxy gets it in a header that no client can send. The key itself goes no further.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: ApiKeyStore,
        *,
        needed: bool,
        rates: RequestRates,
        clock: Clock,
        audit: AuditLog,
    ) -> None:
        self._app = app
        self._keys = keys
        self._needed = needed
        self._clock = clock
        self._audit = audit
        self._rates = rates
        self._failures = rates.failures
        self._rate = rates.callers
        self._noted = rates.noted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        act = find_permission(scope["method"], scope["path"])
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != _OWNER_HEADER]
        secret = _find_key(scope["headers"])
        place = scope["client"][0] if scope.get("client") else ""
        try:
            key = await self._look_up(secret) if secret else None
            answer = self._find_refusal(act, secret, key, place)
            if answer is None and key is not None and self._rates.is_limited(key):
                answer = await asyncio.to_thread(_find_excess, self._rates, act, key)
        except StoreError as fault:
            relayed = act.right == PROXY
            answer = (
                _to_response(act, 503, "Service Unavailable", fault.message, fault.hint, 1)
                if relayed
                else to_problem(fault)
            )
            await answer(scope, receive, send)
            return
        if answer is not None:
            if secret and key is None:
                scope[REFUSED_KEY] = True
                await asyncio.sleep(self._failures.add(place))
            await answer(scope, receive, send)
            return
        if key is not None:
            scope[KEY] = key
            scope[OWNER] = key.owner.key
            kept = [
                (name, value)
                for name, value in scope["headers"]
                if name not in _KEY_HEADERS or secret not in value.decode("latin-1")
            ]
            scope["headers"] = [*kept, (_OWNER_HEADER, quote(key.owner.key).encode())]
        scope[RELAY] = act.right == PROXY
        await self._app(scope, receive, send)

    async def _look_up(self, secret: str) -> ApiKey | None:
        """Find the live key, in a thread if that waits."""
        now = self._clock()
        if not self._keys.is_remote:
            return self._keys.find(secret, now)
        return self._keys.recall(secret, now) or await asyncio.to_thread(
            self._keys.find, secret, now
        )

    def _find_refusal(
        self, act: OperationPermission, secret: str, key: ApiKey | None, place: str
    ) -> Response | None:
        if key is None:
            if not secret and not self._needed:
                return None
            seconds = self._rate.acquire(f"address {place}")
            if seconds:
                return _slow_down(act, seconds)
            if act.right == OPEN and not secret:
                return None
            if self._noted.acquire("") == 0:
                self._audit.note("key.refused", actor="unknown", target=act.name, outcome="refused")
            what = (
                "This key opens nothing: it is unknown, expired or revoked."
                if secret
                else "A key is needed here."
            )
            return _to_response(act, 401, "Unauthorized", what, _HINT)
        if act.right != OPEN and not key.allows(act.right):
            self._audit.note(act.name, actor=key.id, owner=key.owner.key, outcome="refused")
            what = f"This key does not have the right `{act.right}`."
            rights = " ".join(f"--right {right}" for right in (*key.rights, act.right))
            whose = (
                f"--user {shlex.quote(key.owner.labels[1])} "
                if key.owner.labels[0] == "user"
                else ""
            )
            return _to_response(
                act,
                403,
                "Forbidden",
                what,
                f"`engrams keys add NAME {whose}{rights}` makes one that has.",
            )
        seconds = self._rate.acquire(key.id)
        return _slow_down(act, seconds) if seconds else None


class CallerRateLimiter:
    """Token bucket per caller: ``rate`` a second, bursts of ten times.

    0: no limit.
    """

    def __init__(self, rate: float, peers: ProcessPeers, name: str) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._callers: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._tell = peers.share(name, self._count)

    def acquire(self, caller: str) -> int:
        """Count a request; return whole seconds to wait, 0 for none."""
        if not self._rate:
            return 0
        self._tell(caller)
        return self._count(caller)

    def _count(self, caller: str) -> int:
        now = time.monotonic()
        most = max(1.0, self._rate * _BURST)
        with self._lock:
            left, at = self._callers.get(caller, (most, now))
            left = min(most, left + (now - at) * self._rate)
            self._callers[caller] = (left - 1 if left >= 1 else left, now)
            self._callers.move_to_end(caller)
            if len(self._callers) > _MAX_CALLERS:
                self._callers.popitem(last=False)
        return 0 if left >= 1 else math.ceil((1 - left) / self._rate)


class WrongKeyBackoff:
    """Growing delay of wrong keys, by address.

    Up to two seconds.
    """

    def __init__(self, peers: ProcessPeers) -> None:
        self._places: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._tell = peers.share("wrong keys", self._count)

    def add(self, place: str) -> float:
        """Count a wrong key; return the seconds to wait before the answer."""
        self._tell(place)
        return self._count(place)

    def _count(self, place: str) -> float:
        now = time.monotonic()
        count, at = self._places.pop(place, (0, now))
        count = count + 1 if now - at < _FORGET else 1
        self._places[place] = (count, now)
        if len(self._places) > _MAX_CALLERS:
            self._places.popitem(last=False)
        return min(_MAX_DELAY, _DELAY * count)


class RequestRates:
    """Counters of requests and wrong keys, of all processes of a server.

    ``counter``: of the quotas of owners and keys, of all servers on the memory.
    """

    def __init__(
        self, rate: float, peers: ProcessPeers, counter: RequestQuotaCounter, quota: QuotaSettings
    ) -> None:
        self._counter = counter
        self._owners = (quota.minute_requests, quota.daily_requests)
        self.callers = CallerRateLimiter(rate, peers, "requests")
        self.noted = CallerRateLimiter(1, peers, "refusals")
        self.failures = WrongKeyBackoff(peers)

    def is_limited(self, key: ApiKey) -> bool:
        """Say if requests of a key count against a quota."""
        return any((*self._owners, key.minute_requests, key.daily_requests))

    def charge(self, key: ApiKey) -> None:
        """Count a request of a key.

        BudgetError: its quota, or that of its owner, is used up.
        """
        own = (key.minute_requests, key.daily_requests)
        self._counter.acquire(
            key.id, own, "a key made with larger `--minute-requests` and `--daily-requests`"
        )
        self._counter.acquire(
            key.owner.key, self._owners, "`quota.minute_requests` or `quota.daily_requests`"
        )


def _find_excess(rates: RequestRates, act: OperationPermission, key: ApiKey) -> Response | None:
    try:
        rates.charge(key)
    except BudgetError as problem:
        return _to_response(
            act, 429, "Too Many Requests", problem.message, problem.hint, int(problem.retry_after)
        )
    return None


def _slow_down(act: OperationPermission, seconds: int) -> Response:
    hint = f"Go on in {seconds} s; `serve.rate_limit` is the limit."
    return _to_response(
        act, 429, "Too Many Requests", "Too many requests of this key or address.", hint, seconds
    )


def _find_key(headers: list[tuple[bytes, bytes]]) -> str:
    """Find our key in the headers; other bearer tokens do not count."""
    for name, value in headers:
        if name in _KEY_HEADERS:
            word = value.decode("latin-1").strip().rpartition(" ")[2]
            if word.startswith(PREFIX):
                return word
    return ""


def _to_response(
    act: OperationPermission, status: int, title: str, detail: str, hint: str, seconds: int = 0
) -> Response:
    """Build the refusal in the form of the path's clients."""
    if act.right == "proxy":
        if status == 429:
            kind = "rate_limit_error"
        elif status >= 500:
            kind = "server_error"
        else:
            kind = "invalid_request_error"
        body = {
            "error": {
                "message": f"{detail} {hint}",
                "type": kind,
                "param": None,
                "code": title.casefold().replace(" ", "_"),
            }
        }
        answer = Response(json.dumps(body), status, media_type="application/json")
    else:
        answer = make_problem(status, title, detail, hint)
    if status == 401:
        answer.headers["www-authenticate"] = 'Bearer realm="engrams"'
    if seconds:
        answer.headers["retry-after"] = str(seconds)
    return answer
