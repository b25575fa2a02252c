"""Errors in the form of each API, and error texts among answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from starlette.responses import Response

from engrams.core import Json

_ANTHROPIC_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
# Some servers answer 200 with their error as the model's words.
_MODEL_MISSING = re.compile(
    r"\W*(?:error\W{0,3})?(?:the )?model [\"'`“]?[^\s\"'`”]+[\"'`”]?,? (?:(?:was |is |could )?not"
    r" (?:be )?found|does not exist)"
    r"(?:,? try pulling it first)?\W*",
    re.IGNORECASE,
)


def error_body(path: str, status: int, message: str, code: str) -> dict[str, Json]:
    """Build an error's body for the clients of ``path``."""
    if path.startswith("/api/"):
        return {"error": message}
    if path.startswith("/v1/messages"):
        kind = _ANTHROPIC_KINDS.get(
            status, "invalid_request_error" if status < 500 else "api_error"
        )
        return {"type": "error", "error": {"type": kind, "message": message}}
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_response(
    path: str, status: int, message: str, code: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Build an error answer; ``message`` ends with what to do."""
    return Response(
        json.dumps(error_body(path, status, message, code)),
        status,
        dict(headers or {}),
        "application/json",
    )


def is_error_text(text: str) -> bool:
    """Return True for a server's error in the place of an answer."""
    return len(text) < 1000 and bool(_MODEL_MISSING.fullmatch(text) or _is_error_object(text))


def _is_error_object(text: str) -> bool:
    if not text.lstrip().startswith('{"error"'):
        return False
    try:
        return set(json.loads(text)) == {"error"}
    except (ValueError, RecursionError):
        return False
