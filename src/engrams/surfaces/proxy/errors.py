"""Answers of our own in the shape that OpenAI clients read."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from engrams.types import Json

NOTE = "x-engrams-memory"


def problem(message: str, kind: str, code: str) -> dict[str, Json]:
    """The body of an OpenAI error."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def failure(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error answer; ``message`` ends with what to do about it."""
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    return Response(json.dumps(problem(message, kind, code)), status, dict(headers or {}), "application/json")


def event(body: Json) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n\n"


def line(body: Json) -> bytes:
    """One line of a stream of JSON values."""
    return json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n"
