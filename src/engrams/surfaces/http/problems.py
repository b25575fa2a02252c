"""Errors of engrams as HTTP: one table of statuses, one body (RFC 9457)."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from engrams import errors

_STATUS: dict[type[errors.EngramsError], int] = {
    errors.InputError: 400,
    errors.ScopeError: 400,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.RefusedError: 422,
    errors.SettingsError: 500,
    errors.StoreError: 503,
    errors.ModelError: 502,
    errors.BudgetError: 429,
    errors.ClosedError: 503,
    errors.ExtraError: 501,
}


def status_of(fault: errors.EngramsError) -> int:
    """The HTTP status of an error; its nearest class in the table decides."""
    return next((_STATUS[kind] for kind in type(fault).__mro__ if kind in _STATUS), 500)


def problem(fault: errors.EngramsError) -> Response:
    """The error as an ``application/problem+json`` answer, its hint beside its message."""
    status = status_of(fault)
    body = {"type": "about:blank", "title": type(fault).__name__, "status": status, "detail": fault.message, "hint": fault.hint}
    return Response(json.dumps(body), status, media_type="application/problem+json")


async def handle(_: Request, fault: Exception) -> Response:
    """The handler that the app registers for EngramsError."""
    assert isinstance(fault, errors.EngramsError)
    return problem(fault)


def unforeseen() -> Response:
    """What nobody foresaw: told without what it says, which may quote memory; the server's own log has the place."""
    body = {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "The server failed in a way that nobody foresaw.",
        "hint": "Its log has the place, at the time of this answer.",
    }
    return Response(json.dumps(body), 500, media_type="application/problem+json")
