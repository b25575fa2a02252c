"""Answers to errors as problem bodies (RFC 9457), and how routes declare them.

`make_problem` builds a body, `to_problem` one for an error of engrams, `error_responses` describes
them in the API's schema. The three handlers are installed in the application.
"""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from engrams import errors

MEDIA = "application/problem+json"
SCHEMA_HINT = "GET /openapi.json describes every request."

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "hint"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "The kind of error."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong."},
        "hint": {"type": "string", "description": "The solution; may be empty."},
    },
}
_ALWAYS_DECLARED = (400, 401, 403, 413, 422, 429)
_DESCRIPTIONS = {
    304: "It still has the version of If-None-Match.",
    400: "The request cannot be used.",
    401: "It needs a key, and this is none.",
    403: "The key does not have the right to this.",
    404: "There is no such thing in this person's memory.",
    409: "It changed meanwhile.",
    412: "It no longer has the version of If-Match.",
    413: "The body is too large.",
    422: "The request is malformed, or is refused.",
    429: "Too many requests, or a quota of the day is used up; Retry-After says when to continue.",
    507: "Memory is as large as its quota allows.",
}
"""Status -> its description in the schema."""

_STATUSES: dict[type[errors.EngramsError], int] = {
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
_HTTP_HINTS = {
    "`engrams list` shows the ids.": "GET /v1/memories lists them with their ids.",
    "`engrams list` shows the ids. Those of a space take `--space NAME`.": (
        "GET /v1/memories lists them with their ids, and with ?space=NAME those of a space."
    ),
}
"""Hints that name a command -> the request that does it."""


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Declare a route's error statuses for the API description."""
    content = {MEDIA: {"schema": _SCHEMA}}
    declared: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, *_ALWAYS_DECLARED}):
        declared[status] = {"description": _DESCRIPTIONS[status]}
        if status != HTTPStatus.NOT_MODIFIED:
            declared[status]["content"] = content
    declared["default"] = {"description": "The store or a model failed.", "content": content}
    return declared


def make_problem(status: int, title: str, detail: str, hint: str = "") -> Response:
    """Build a problem body (RFC 9457)."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "hint": hint}
    return Response(json.dumps(body), status, media_type=MEDIA)


def to_problem(error: errors.EngramsError) -> Response:
    """Build the problem of an error, with its message and hint."""
    status = status_of(error)
    retry_after = ""
    if isinstance(error, errors.BudgetError) and error.retry_after:
        if math.isinf(error.retry_after):
            status = 507  # waiting does not help: memory has as many bytes as its quota allows
        else:
            retry_after = str(math.ceil(error.retry_after))
    elif isinstance(error, errors.ClosedError | errors.StoreError):
        retry_after = "1"
    problem = make_problem(
        status, type(error).__name__, error.message, _HTTP_HINTS.get(error.hint, error.hint)
    )
    if retry_after:
        problem.headers["retry-after"] = retry_after
    return problem


def status_of(error: errors.EngramsError) -> int:
    """Return the HTTP status of an error by its nearest class."""
    return next((_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES), 500)


def internal_error() -> Response:
    """Build the 500 answer without the error text, which may quote memory."""
    return make_problem(
        500,
        "Internal Server Error",
        "The server failed in a way that nobody foresaw.",
        "Its log has the place, at the time of this answer.",
    )


async def handle_engrams_error(_: Request, error: Exception) -> Response:
    """Answer an error of engrams that a route raised."""
    assert isinstance(error, errors.EngramsError)
    return to_problem(error)


async def handle_http_error(_: Request, error: Exception) -> Response:
    """Answer errors of the framework: no JSON, unknown path or method."""
    assert isinstance(error, HTTPException)
    problem = make_problem(
        error.status_code,
        HTTPStatus(error.status_code).phrase,
        str(error.detail),
        SCHEMA_HINT,
    )
    problem.headers.update(error.headers or {})
    return problem
