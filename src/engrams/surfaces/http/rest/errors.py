"""Problem bodies, declared statuses, body limits and 405 of all routes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial, wraps
from http import HTTPStatus
from inspect import iscoroutinefunction as is_async
from inspect import signature
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engrams.core import Json
from engrams.settings import suggest
from engrams.surfaces.http.rest.caller import ScopedCaller, get_caller

MEDIA = "application/problem+json"
_TEXTS_PER_BODY = 16
"""A body may hold this many texts of the largest size."""
_MIN_BODY_BYTES = 1_000_000

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
    429: "Too many requests, or a quota of the day is used up; Retry-After says when to go on.",
    507: "Memory is as large as its quota allows.",
}


_TOP = 2
_MEANT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("content", "memory", "value", "fact", "message"), ("text", "messages")),
    **dict.fromkeys(("q", "question", "prompt", "text"), ("query", "text")),
    **dict.fromkeys(("top_k", "k", "n", "max", "count", "size", "max_results"), ("limit",)),
    **dict.fromkeys(("max_tokens", "budget"), ("tokens",)),
    **dict.fromkeys(("kind", "type", "types"), ("kinds", "kind")),
    **dict.fromkeys(("filter", "filters"), ("where",)),
    **dict.fromkeys(("session_id", "thread_id", "run_id"), ("session",)),
}
"""Fields of other systems -> ours."""


_HINT = "GET /openapi.json describes every request."


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Declare a route's error statuses for the API description."""
    body = {MEDIA: {"schema": _SCHEMA}}
    named: dict[int | str, dict[str, Any]] = {
        status: {"description": _WHY[status]} | ({} if status == 304 else {"content": body})
        for status in sorted({*statuses, *_ALWAYS})
    }
    return {**named, "default": {"description": "The store or a model failed.", "content": body}}


def make_problem(status: int, title: str, detail: str, hint: str = "") -> Response:
    """Build a problem body (RFC 9457)."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "hint": hint}
    return Response(json.dumps(body), status, media_type=MEDIA)


async def handle_invalid_request(request: Request, fault: Exception) -> Response:
    """Answer 422 for a malformed request, without repeating its content."""
    assert isinstance(fault, RequestValidationError)
    found = sorted(fault.errors()[:5], key=lambda each: each["type"] != "extra_forbidden")
    if any(
        each["loc"] == ("body",) and each["type"].endswith("_attributes_type") for each in found
    ) and not _is_json(request):
        return make_problem(
            422,
            "InputError",
            "The body is not marked as JSON.",
            "Send the header `Content-Type: application/json`.",
        )
    told = "; ".join(_explain(each, _body_fields(request)) for each in found)
    return make_problem(422, "InputError", told, "GET /openapi.json describes every request.")


def _is_json(request: Request) -> bool:
    return "json" in request.headers.get("content-type", "")


def _body_fields(request: Request) -> tuple[str, ...]:
    """List the fields of the body that the route takes."""
    body = getattr(request.scope.get("route"), "body_field", None)
    return tuple(
        getattr(getattr(getattr(body, "field_info", None), "annotation", None), "model_fields", ())
    )


def _explain(each: Mapping[str, Any], known: Sequence[str]) -> str:
    where = ".".join(map(str, each["loc"]))
    name = str(each["loc"][-1])
    match each["type"]:
        case "extra_forbidden" if len(each["loc"]) == _TOP:
            near = next((one for one in _MEANT.get(name, ()) if one in known), "")
            tip = f"Did you mean {near}?" if near else suggest(name, list(known))
            return (
                f"{where} is no field of this request. {tip} It takes {', '.join(known)}".replace(
                    "  ", " "
                )
            )
        case "json_invalid":
            return (
                f"The body is not JSON: {each.get('ctx', {}).get('error', 'it breaks off')} at"
                f" character {name}"
            )
        case _:
            return f"{where}: {each['msg']}"


async def handle_http_error(_: Request, fault: Exception) -> Response:
    """Answer errors of the framework: no JSON, unknown path or method."""
    assert isinstance(fault, HTTPException)
    answer = make_problem(
        fault.status_code,
        HTTPStatus(fault.status_code).phrase,
        str(fault.detail),
        "GET /openapi.json describes every request.",
    )
    answer.headers.update(fault.headers or {})
    return answer


def limited_route(text_bytes: int, threads: Executor | None = None) -> type[APIRoute]:
    """Create a route class that limits the size of bodies.

    What its functions answer is written as JSON in their own thread; the framework would check it
    first, in another one. ``threads``: where they run; None: in those of all requests. With threads
    of their own, requests without a fault go round the framework.
    """
    most = max(_MIN_BODY_BYTES, _TEXTS_PER_BODY * text_bytes)

    class SizeLimitedRoute(APIRoute):
        def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
            status = options.get("status_code") or 200
            super().__init__(
                path,
                endpoint if is_async(endpoint) else _answer_in_thread(endpoint, status, threads),
                **options,
            )
            if threads is not None:
                self.app = _make_direct(self.endpoint, self.app, most) or self.app

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def handle(request: Request) -> Response:
                if _is_announced_larger(request, most):
                    raise _too_large(most)
                return await handler(Request(request.scope, _limit_stream(request, most)))

            return handle

    return SizeLimitedRoute


def _answer_in_thread(
    endpoint: Callable[..., Any], status: int, threads: Executor | None
) -> Callable[..., Any]:
    """Write an endpoint's answer as JSON, unless it sets headers itself."""
    if any(
        each.annotation in (Response, "Response")
        for each in signature(endpoint).parameters.values()
    ):
        return endpoint

    @wraps(endpoint)
    def answer(*args: Any, **values: Any) -> Any:
        found = endpoint(*args, **values)
        if not isinstance(found, BaseModel):
            return found
        return Response(
            found.__pydantic_serializer__.to_json(found, by_alias=True),
            status,
            media_type="application/json",
        )

    @wraps(endpoint)
    async def answer_in_own(*args: Any, **values: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            threads, partial(answer, *args, **values)
        )

    return answer if threads is None else answer_in_own


def _make_direct(endpoint: Callable[..., Any], framework: ASGIApp, most: int) -> ASGIApp | None:
    """Make an application for an endpoint with a body and its caller.

    It leaves a body with a fault, or more than ``most`` bytes, to the framework's own, which
    explains it.
    """
    hints = get_type_hints(endpoint, include_extras=True)
    if hints.keys() - {"return"} != {"body", "caller"} or hints["caller"] != ScopedCaller:
        return None
    model: type[BaseModel] = hints["body"]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        heard = list[Message]()
        headers = request.headers
        asked = request.query_params
        body = None
        if headers.get("content-type", "").startswith(
            "application/json"
        ) and not _is_announced_larger(request, most):
            with suppress(ValueError, RecursionError):
                body = model.model_validate(json.loads(await _hear_body(receive, heard, most)))
        if body is None:
            await framework(scope, _repeat(heard, receive), send)
            return
        caller = await get_caller(
            request,
            asked.get("project", ""),
            asked.get("conversation", ""),
            headers.get("x-engrams-user", ""),
        )
        await (await endpoint(body=body, caller=caller))(scope, receive, send)

    return answer


async def _hear_body(receive: Receive, heard: list[Message], most: int) -> bytearray:
    """Hear a body; empty where it breaks off or is larger."""
    body = bytearray()
    more = True
    while more and len(body) <= most:
        message = await receive()
        heard.append(message)
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body if message["type"] == "http.request" and len(body) <= most else bytearray()


def _repeat(heard: Iterable[Message], receive: Receive) -> Receive:
    """Tell messages that were heard already, then go on."""
    again = iter(heard)

    async def repeat() -> Message:
        message = next(again, None)
        return await receive() if message is None else message

    return repeat


def _is_announced_larger(request: Request, most: int) -> bool:
    size = request.headers.get("content-length", "0")
    return size.isascii() and size.isdigit() and int(size) > most


def _limit_stream(request: Request, most: int) -> Callable[[], Coroutine[Any, Any, Message]]:
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
    return HTTPException(
        413, f"The body has more than {most:,} bytes; POST /v1/import takes files of any size."
    )


def etag(version: int) -> str:
    """Format the entity tag of a version."""
    return f'"{version}"'


def matches_etag(header: str, version: int) -> bool:
    """Return True if a tag list holds this version (``*``: any)."""
    return any(
        tag in ("*", etag(version))
        for tag in (part.strip().removeprefix("W/") for part in header.split(","))
    )


def to_json(value: Json) -> Json:
    """Convert values of a history or trace to JSON."""
    if type(value) is str:
        return value
    match value:
        case dict():
            return {str(name): to_json(held) for name, held in value.items()}
        case list() | tuple() | set() | frozenset():
            return [to_json(held) for held in value]
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


class MethodNotAllowedRoutes:
    """Answer 405 with the allowed methods for paths of ``routes``, else 404."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        matching = [route for route in self._routes if route.matches(scope)[0] is Match.PARTIAL]
        if matching:
            answer = make_problem(
                405, "Method Not Allowed", f"{scope['method']} is not for this path.", _HINT
            )
            answer.headers["allow"] = ", ".join(
                sorted({method for route in matching for method in route.methods or ()})
            )
        else:
            answer = make_problem(404, "Not Found", "There is nothing at this path.", _HINT)
        await answer(scope, receive, send)

    def routes_for(self, paths: Iterable[str]) -> list[BaseRoute]:
        """Build routes for every method, to be added after the real ones."""
        return [Route(path, self, include_in_schema=False) for path in dict.fromkeys(paths)]

    @property
    def paths(self) -> list[str]:
        return [route.path for route in self._routes]
