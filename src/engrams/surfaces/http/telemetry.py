"""Report requests to observers, and unhandled errors as problems."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engrams import errors
from engrams.core.ids import new_id
from engrams.frozen_data import dataclass
from engrams.ports import Clock
from engrams.surfaces.http.permissions import OperationPermission, find_permission
from engrams.surfaces.http.rest.caller import KEY, OWNER, REFUSED_KEY, RELAY

if TYPE_CHECKING:
    from engrams.api_keys import ApiKey

_ID = re.compile(rb"[\w.:-]{1,128}")
_HEADER = b"x-request-id"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


_STATUS: dict[type[errors.EngramsError], int] = {
    errors.InputError: 400,
    errors.ScopeError: 400,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.RefusedError: 422,
    errors.SettingsError: 500,
    errors.StoreError: 503,
    errors.EncryptionError: 503,
    errors.ModelError: 502,
    errors.BudgetError: 429,
    errors.ClosedError: 503,
    errors.ExtraError: 501,
}


_HINTS = {"`engrams list` shows the ids.": "GET /v1/memories lists them with their ids."}
"""Hints that name a command -> the request that does it."""


_CUT_OFF = "Send it again: with an `Idempotency-Key` or an `external_id` nothing is stored twice."


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """Finished request as observers see it: route, caller, status, duration.

    ``seconds`` until its last byte; ``owner``: a scope's key, empty where none is concerned;
    ``parent``: the client's ``traceparent``; ``start``: nanoseconds since 1970.
    """

    id: str
    permission: OperationPermission
    method: str
    status: int
    seconds: float
    start: int
    owner: str
    actor: str
    target: str
    parent: str
    refused_key: bool = False


Observer = Callable[[ObservedRequest], None]


class TelemetryMiddleware:
    """Give every request an id and report it to the observers.

    The id is the client's own where it sent one.
    """

    def __init__(self, app: ASGIApp, observers: Sequence[Observer], clock: Clock) -> None:
        self._app = app
        self._observers = tuple(observers)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        act = find_permission(scope["method"], scope["path"])
        headers = dict(scope["headers"])
        given = headers.get(_HEADER, b"")
        id = given.decode() if _ID.fullmatch(given) else new_id(self._clock())
        status = 0

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = _safe_headers(message.get("headers", ()), relayed=bool(scope.get(RELAY)))
                message = {
                    **message,
                    "headers": own if scope.get(RELAY) else [*own, (_HEADER, id.encode())],
                }
            await send(message)

        start = time.time_ns()
        began = time.perf_counter()
        try:
            await self._app(scope, receive, tell)
        except asyncio.CancelledError:
            if status:
                raise
            await to_problem(
                errors.ClosedError(
                    "The server stops, and cut this off before its end.", hint=_CUT_OFF
                )
            )(scope, receive, tell)
        except Exception:
            if not status:
                await internal_error()(scope, receive, tell)
            raise
        finally:
            seconds = time.perf_counter() - began
            key: ApiKey | None = scope.get(KEY)
            seen = ObservedRequest(
                id=id,
                permission=act,
                method=scope["method"],
                status=status or 499,
                seconds=seconds,
                start=start,
                owner=scope.get(OWNER, ""),
                actor=key.id if key else "local",
                target=str(scope.get("path_params", {}).get("id", "")),
                parent=headers.get(b"traceparent", b"").decode("latin-1"),
                refused_key=REFUSED_KEY in scope,
            )
            for observer in self._observers:
                observer(seen)


def _safe_headers(
    headers: Iterable[tuple[bytes, bytes]], *, relayed: bool
) -> list[tuple[bytes, bytes]]:
    """Add security headers to every answer."""
    held = {name.lower(): value for name, value in headers}
    added = [pair for pair in _SAFE if pair[0] not in held]
    if not relayed and b"json" in held.get(b"content-type", b"") and b"cache-control" not in held:
        added.append((b"cache-control", b"no-store"))
    return [*headers, *added]


def status_of(fault: errors.EngramsError) -> int:
    """Return the HTTP status of an error by its nearest class."""
    return next((_STATUS[kind] for kind in type(fault).__mro__ if kind in _STATUS), 500)


def to_problem(fault: errors.EngramsError) -> Response:
    """Build an ``application/problem+json`` answer with message and hint."""
    status = status_of(fault)
    headers = dict[str, str]()
    if isinstance(fault, errors.BudgetError) and fault.retry_after:
        if math.isinf(fault.retry_after):
            status = 507
        else:
            headers["retry-after"] = str(math.ceil(fault.retry_after))
    elif isinstance(fault, errors.ClosedError | errors.StoreError):
        headers["retry-after"] = "1"
    body = {
        "type": "about:blank",
        "title": type(fault).__name__,
        "status": status,
        "detail": fault.message,
        "hint": _HINTS.get(fault.hint, fault.hint),
    }
    return Response(json.dumps(body), status, headers, media_type="application/problem+json")


async def handle_error(_: Request, fault: Exception) -> Response:
    """Handle EngramsError for the app."""
    assert isinstance(fault, errors.EngramsError)
    return to_problem(fault)


def internal_error() -> Response:
    """Build the 500 answer without the error text, which may quote memory."""
    body = {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "The server failed in a way that nobody foresaw.",
        "hint": "Its log has the place, at the time of this answer.",
    }
    return Response(json.dumps(body), 500, media_type="application/problem+json")
