"""What is told of every request, and to whom: metrics, charts, the audit log, traces and the log. Never what memory says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engrams.clock import new_id
from engrams.ports import Clock
from engrams.surfaces.http.permissions import PROXY, Act, act_of
from engrams.surfaces.http.problems import unforeseen
from engrams.surfaces.http.rest.caller import KEY, OWNER

if TYPE_CHECKING:
    from engrams.apikeys import Key

_ID = re.compile(rb"[\w.:-]{1,128}")
_HEADER = b"x-request-id"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request. ``seconds`` until its last byte; ``owner``: a scope's key, empty where it was about nobody's memory.

    ``parent``: the trace it belongs to, as the client's ``traceparent`` names it. ``start``: nanoseconds since 1970.
    """

    id: str
    act: Act
    method: str
    status: int
    seconds: float
    start: int
    owner: str
    actor: str
    target: str
    parent: str


Observer = Callable[[Seen], None]


class Witness:
    """Gives every request an id (the client's own where it sent one) and tells its observers how it went."""

    def __init__(self, app: ASGIApp, observers: Sequence[Observer], clock: Clock) -> None:
        self._app, self._observers, self._clock = app, tuple(observers), clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        act = act_of(scope["method"], scope["path"])
        headers = dict(scope["headers"])
        given = headers.get(_HEADER, b"")
        id = given.decode() if _ID.fullmatch(given) else new_id(self._clock())
        status = 0

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if act.right != PROXY:
                    message = {**message, "headers": [*message.get("headers", ()), (_HEADER, id.encode())]}
            await send(message)

        start, began = time.time_ns(), time.perf_counter()
        try:
            await self._app(scope, receive, tell)
        except Exception:
            if not status:
                await unforeseen()(scope, receive, tell)
            raise
        finally:
            seconds = time.perf_counter() - began
            parent = headers.get(b"traceparent", b"").decode("latin-1")
            seen = _seen(scope, Seen(id, act, scope["method"], status or 499, seconds, start, "", "local", "", parent))
            for observer in self._observers:
                observer(seen)


def _seen(scope: MutableMapping[str, Any], seen: Seen) -> Seen:
    """With what was found out on the way."""
    key: Key | None = scope.get(KEY)
    target = str(scope.get("path_params", {}).get("id", ""))
    return replace(seen, owner=scope.get(OWNER, ""), actor=key.id if key else "local", target=target)
