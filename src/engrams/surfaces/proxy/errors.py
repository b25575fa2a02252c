"""Our own answers in the shape that OpenAI clients read."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from engrams.types import Json

NOTE = "x-engrams-memory"


def error_body(message: str, kind: str, code: str) -> dict[str, Json]:
    """Build the body of an OpenAI error."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_response(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> Response:
    """Build an error answer; ``message`` ends with what to do."""
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    return Response(json.dumps(error_body(message, kind, code)), status, dict(headers or {}), "application/json")


def sse_event(body: Json) -> bytes:
    """Format a server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n\n"


def json_line(body: Json) -> bytes:
    """Format a line of a stream of JSON values."""
    return json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n"
