"""What every route of the API shares: problem bodies, declared statuses, limits on bodies."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Message

from engrams.types import Json

MEDIA = "application/problem+json"
_TEXTS = 16
"""A body may hold this many texts of the largest size."""
_LEAST = 1_000_000

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "hint"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "The kind of error."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong."},
        "hint": {"type": "string", "description": "What to do about it; may be empty."},
    },
}
_ALWAYS = (400, 401, 403, 413, 422, 429)
_WHY = {
    304: "It still has the version of If-None-Match.",
    400: "The request cannot be used.",
    401: "It needs a key, and this is none.",
    403: "The key does not have the right to this.",
    404: "There is no such thing in this person's memory.",
    409: "It changed meanwhile.",
    412: "It no longer has the version of If-Match.",
    413: "The body is too large.",
    422: "The request is malformed, or what it asks is refused.",
    429: "Too many requests; Retry-After says when to go on.",
}


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The statuses of a route besides its success, for the description of the API."""
    body = {MEDIA: {"schema": _SCHEMA}}
    named: dict[int | str, dict[str, Any]] = {
        status: {"description": _WHY[status]} | ({} if status == 304 else {"content": body}) for status in sorted({*statuses, *_ALWAYS})
    }
    return {**named, "default": {"description": "The store or a model failed.", "content": body}}


def failure(status: int, title: str, detail: str, hint: str = "") -> Response:
    """A problem body (RFC 9457)."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "hint": hint}
    return Response(json.dumps(body), status, media_type=MEDIA)


async def malformed(_: Request, fault: Exception) -> Response:
    """A request that does not have the form of its route. What was sent is not repeated: it may be private."""
    assert isinstance(fault, RequestValidationError)
    told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors()[:5]]
    return failure(422, "InputError", "; ".join(told), "GET /openapi.json describes every request.")


async def unserved(_: Request, fault: Exception) -> Response:
    """What the framework itself refuses: a body that is no JSON, a method or path that is not there."""
    assert isinstance(fault, HTTPException)
    answer = failure(
        fault.status_code, HTTPStatus(fault.status_code).phrase, str(fault.detail), "GET /openapi.json describes every request."
    )
    answer.headers.update(fault.headers or {})
    return answer


def limited(text_bytes: int) -> type[APIRoute]:
    """Routes that read no more than a body may hold."""
    most = max(_LEAST, _TEXTS * text_bytes)

    class Limited(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            plain = super().get_route_handler()

            async def handle(request: Request) -> Response:
                size = request.headers.get("content-length", "0")
                if size.isascii() and size.isdigit() and int(size) > most:
                    raise _too_large(most)
                return await plain(Request(request.scope, _counted(request, most)))

            return handle

    return Limited


def _counted(request: Request, most: int) -> Callable[[], Coroutine[Any, Any, Message]]:
    read = 0

    async def receive() -> Message:
        nonlocal read
        message = await request.receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _too_large(most)
        return message

    return receive


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"The body has more than {most:,} bytes; POST /v1/import takes files of any size.")


def etag(version: int) -> str:
    """The entity tag of a version of a memory."""
    return f'"{version}"'


def matches(header: str, version: int) -> bool:
    """Whether a list of entity tags holds this version (``*``: any)."""
    return any(tag in ("*", etag(version)) for tag in (part.strip().removeprefix("W/") for part in header.split(",")))


def plain(value: Json) -> Json:
    """JSON values of what a history or trace holds."""
    match value:
        case dict():
            return {str(name): plain(held) for name, held in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(held) for held in value]
        case str():
            return str(value)
        case None | bool() | int():
            return value
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _ if hasattr(value, "labels"):
            return list(value.labels)
        case _ if hasattr(value, "__float__"):
            return float(value)
        case _:
            return str(value)
