"""Observation of requests: an id, security headers, and a report to observers when each has ended.

`TelemetryMiddleware` is the outermost middleware, so that also refusals are observed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engrams.core.ids import new_id
from engrams.errors import ClosedError
from engrams.ports import Clock
from engrams.surfaces.http.caller import KEY, OWNER, REFUSED_KEY, RELAY
from engrams.surfaces.http.permissions import OperationPermission, PermissionTable
from engrams.surfaces.http.problems import internal_error, to_problem

if TYPE_CHECKING:
    from engrams.api_keys import ApiKey

_VALID_ID = re.compile(rb"[\w.:-]{1,128}")
_ID = re.compile(r"[0-9a-z]{26}|[0-9]+")
"""An id of a memory, or a number."""
_ID_HEADER = b"x-request-id"
_MEMORY_HEADER = b"x-engrams-memory"
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_CLIENT_CLOSED = 499
"""Status that is reported where the client left before an answer; nginx's number for it."""
_CUT_OFF = "Send it again: with an `Idempotency-Key` or an `external_id` nothing is stored twice."


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """Finished request as observers see it: route, caller, status, duration."""

    id: str
    """The client's own X-Request-Id, or one that the server gave."""

    permission: OperationPermission
    method: str
    status: int
    seconds: float
    """Until the last byte of the answer."""

    start: int
    """Nanoseconds since 1970."""

    owner: str
    """Key of the owner's scope; empty where the request concerns none."""

    actor: str
    """Id of the API key; ``local`` without one."""

    target: str
    """Id in the path, if it has one."""

    parent: str
    """The client's ``traceparent`` header."""

    refused_key: bool = False
    """True where a key was sent that opens nothing."""

    memory: str = ""
    """What memory did for a chat: the answer's header ``x-engrams-memory``."""


Observer = Callable[[ObservedRequest], None]


class TelemetryMiddleware:
    """Give every request an id and report it to the observers.

    The id is the client's own where it sent one.
    """

    def __init__(
        self,
        app: ASGIApp,
        observers: Sequence[Observer],
        permissions: PermissionTable,
        clock: Clock,
    ) -> None:
        self._app = app
        self._observers = tuple(observers)
        self._permissions = permissions
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        permission = self._permissions.find(scope["method"], scope["path"])
        headers = dict(scope["headers"])
        sent_id = headers.get(_ID_HEADER, b"")
        request_id = sent_id.decode() if _VALID_ID.fullmatch(sent_id) else new_id(self._clock())
        status = 0
        memory = b""

        async def send_observed(message: Message) -> None:
            nonlocal status, memory
            if message["type"] == "http.response.start":
                status = message["status"]
                memory = dict(message.get("headers", ())).get(_MEMORY_HEADER, b"")
                is_relayed = bool(scope.get(RELAY))
                answer_headers = _add_safe_headers(message.get("headers", ()), relayed=is_relayed)
                if not is_relayed:
                    answer_headers.append((_ID_HEADER, request_id.encode()))
                message = {**message, "headers": answer_headers}
            await send(message)

        start = time.time_ns()
        started = time.perf_counter()
        try:
            await self._app(scope, receive, send_observed)
        except asyncio.CancelledError:
            if status:
                raise
            stopping = ClosedError("The server stopped before this was finished.", hint=_CUT_OFF)
            await to_problem(stopping)(scope, receive, send_observed)
        except Exception:
            if not status:
                await internal_error()(scope, receive, send_observed)
            raise
        finally:
            key: ApiKey | None = scope.get(KEY)
            request = ObservedRequest(
                id=request_id,
                permission=permission,
                method=scope["method"],
                status=status or _CLIENT_CLOSED,
                seconds=time.perf_counter() - started,
                start=start,
                owner=scope.get(OWNER, ""),
                actor=key.id if key else "local",
                target=_read_target(scope, status),
                parent=headers.get(b"traceparent", b"").decode("latin-1"),
                refused_key=REFUSED_KEY in scope,
                memory=memory.decode("latin-1"),
            )
            for observe in self._observers:
                observe(request)


def _add_safe_headers(
    headers: Iterable[tuple[bytes, bytes]], *, relayed: bool
) -> list[tuple[bytes, bytes]]:
    """Add the security headers that an answer lacks.

    What is ours is not to be cached, but where it says so itself, as the files of the page do; an
    upstream's answer (``relayed``) keeps what it says of that.
    """
    present = {name.lower(): value for name, value in headers}
    missing = [pair for pair in _SECURITY_HEADERS if pair[0] not in present]
    if not relayed and b"cache-control" not in present:
        missing.append((b"cache-control", b"no-store"))
    return [*headers, *missing]


def _read_target(scope: Scope, status: int) -> str:
    """Read the id in a path. Words that name nothing here belong in no log."""
    target = str(scope.get("path_params", {}).get("id", ""))
    names_something = 0 < status < 400
    return target if names_something or _ID.fullmatch(target) else ""
