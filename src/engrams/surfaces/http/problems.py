"""Engine errors as HTTP problem bodies (RFC 9457)."""

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
    """Return the HTTP status of an error by its nearest class."""
    return next((_STATUS[kind] for kind in type(fault).__mro__ if kind in _STATUS), 500)


def to_problem(fault: errors.EngramsError) -> Response:
    """Build an ``application/problem+json`` answer with message and hint."""
    status = status_of(fault)
    body = {"type": "about:blank", "title": type(fault).__name__, "status": status, "detail": fault.message, "hint": fault.hint}
    return Response(json.dumps(body), status, media_type="application/problem+json")


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
