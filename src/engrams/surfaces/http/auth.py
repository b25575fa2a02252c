"""Keys: who may come in, for whose memory, to do what, and how often."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engrams.apikeys import PREFIX, Key, Keyring
from engrams.ports import Clock
from engrams.surfaces.http.permissions import OPEN, Act, act_of
from engrams.surfaces.http.rest.caller import KEY, OWNER
from engrams.surfaces.http.rest.errors import failure

if TYPE_CHECKING:
    from engrams.build import AuditLog

_NAMES = (b"authorization", b"x-api-key", b"x-engrams-key")
_BOUND = b"x-engrams-owner"
_BURST = 10
_CALLERS = 10_000
_ADVICE = "Send `Authorization: Bearer engrams_…`; `engrams keys add` makes a key."


class Gate:
    """Lets a request in with a key that has the right to what it does; without one only where none is needed.

    What the key opens is settled here, and only here: its owner is what every call of the engine is bound to, and for the
    proxy a header that no client can send. The key itself goes no further.
    """

    def __init__(self, app: ASGIApp, keys: Keyring, *, needed: bool, rate: float, clock: Clock, audit: AuditLog) -> None:
        self._app, self._keys, self._needed, self._clock, self._audit = app, keys, needed, clock, audit
        self._rate = Rate(rate)
        self._noted = Rate(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        act = act_of(scope["method"], scope["path"])
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != _BOUND]
        secret = _secret(scope["headers"])
        key = self._keys.find(secret, self._clock()) if secret else None
        answer = self._refusal(act, secret, key)
        if answer is not None:
            await answer(scope, receive, send)
            return
        if key is not None:
            scope[KEY], scope[OWNER] = key, key.owner.key
            others = [(name, value) for name, value in scope["headers"] if name not in _NAMES or secret not in value.decode("latin-1")]
            scope["headers"] = [*others, (_BOUND, quote(key.owner.key).encode())]
        await self._app(scope, receive, send)

    def _refusal(self, act: Act, secret: str, key: Key | None) -> Response | None:
        if act.right == OPEN and not secret:
            return None
        if key is None:
            if not secret and not self._needed:
                return None
            if self._noted.wait("") == 0:
                self._audit.note("key.refused", actor="unknown", target=act.name, outcome="refused")
            what = "This key opens nothing: it is unknown, expired or revoked." if secret else "A key is needed here."
            return _answer(act, 401, "Unauthorized", what, _ADVICE)
        if act.right != OPEN and not key.may(act.right):
            self._audit.note(act.name, actor=key.id, owner=key.owner.key, outcome="refused")
            what = f"This key does not have the right `{act.right}`."
            return _answer(act, 403, "Forbidden", what, f"`engrams keys add --right {act.right}` makes one that has.")
        seconds = self._rate.wait(key.id)
        if seconds:
            return _answer(
                act,
                429,
                "Too Many Requests",
                "This key asks too often.",
                f"Go on in {seconds} s; `serve.rate_limit` is the limit.",
                seconds,
            )
        return None


class Rate:
    """So many a second for each caller, ten times that at once; 0: no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._callers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> int:
        """Count one; the whole seconds to wait where that is too many, else 0."""
        if not self._rate:
            return 0
        now, most = time.monotonic(), max(1.0, self._rate * _BURST)
        with self._lock:
            left, at = self._callers.get(caller, (most, now))
            left = min(most, left + (now - at) * self._rate)
            self._callers[caller] = (left - 1 if left >= 1 else left, now)
            self._callers.move_to_end(caller)
            if len(self._callers) > _CALLERS:
                self._callers.popitem(last=False)
        return 0 if left >= 1 else math.ceil((1 - left) / self._rate)


def _secret(headers: list[tuple[bytes, bytes]]) -> str:
    """The key among the headers. Another service's bearer token is none: it is for the model server behind."""
    for name, value in headers:
        if name in _NAMES:
            word = value.decode("latin-1").strip().rpartition(" ")[2]
            if word.startswith(PREFIX):
                return word
    return ""


def _answer(act: Act, status: int, title: str, detail: str, hint: str, seconds: int = 0) -> Response:
    """In the form that the clients of that path know."""
    if act.right == "proxy":
        kind = "rate_limit_error" if status == 429 else "invalid_request_error"
        body = {"error": {"message": f"{detail} {hint}", "type": kind, "param": None, "code": title.casefold().replace(" ", "_")}}
        answer = Response(json.dumps(body), status, media_type="application/json")
    else:
        answer = failure(status, title, detail, hint)
    if status == 401:
        answer.headers["www-authenticate"] = 'Bearer realm="engrams"'
    if seconds:
        answer.headers["retry-after"] = str(seconds)
    return answer
