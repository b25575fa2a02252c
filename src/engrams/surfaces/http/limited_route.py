"""Routes that limit the size of a body and write their answer as JSON in their own thread.

`limited_router` makes the router that every file of routes fills. Writing in the own thread saves a
second check of each answer; ``bench.speed.health``, with and without ``--framework``, shows by how
much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial, wraps
from inspect import iscoroutinefunction, signature
from threading import RLock
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path, get_name
from starlette.types import Message

from engrams.settings import Settings

_TEXTS_PER_BODY = 16
"""A body may hold this many texts of the largest size."""
_MIN_BODY_BYTES = 1_000_000


def limited_router(
    settings: Settings, tag: str, prefix: str = "/v1", threads: Executor | None = None
) -> APIRouter:
    """Make a router whose routes limit the size of their bodies.

    ``tag`` groups the routes in the API description. ``threads``: where the routes' functions run;
    None: in the threads of all requests.
    """
    route_class = limited_route(settings.limits.text_bytes, threads)
    return APIRouter(prefix=prefix, tags=[tag], route_class=route_class)


def limited_route(text_bytes: int, threads: Executor | None = None) -> type[APIRoute]:
    """Create a route class that limits the size of bodies.

    The answer of a function is written as JSON in the function's own thread; the framework would
    check it first, in another one.
    """
    max_bytes = max(_MIN_BODY_BYTES, _TEXTS_PER_BODY * text_bytes)
    reading = RLock()

    class SizeLimitedRoute(APIRoute):
        """Route that reads its parameters when it is first used.

        Reading those of every route takes longer than everything else at the start of a server.
        """

        def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
            self._unread = options
            self.path = path
            self.endpoint = endpoint
            self.name = options.get("name") or get_name(endpoint)
            self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
            self.path_regex, self.path_format, self.param_convertors = compile_path(path)

        def __getattr__(self, name: str) -> Any:
            """Read the parameters, on which all attributes rest that are not set yet."""
            with reading:
                if "_unread" in vars(self):
                    self._read(**vars(self).pop("_unread"))
            return super().__getattribute__(name)

        def _read(self, **options: Any) -> None:
            endpoint = self.endpoint
            if not iscoroutinefunction(endpoint):
                endpoint = _write_in_thread(endpoint, options.get("status_code") or 200, threads)
            super().__init__(self.path, endpoint, **options)

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def handle(request: Request) -> Response:
                if _is_announced_larger(request, max_bytes):
                    raise _too_large(max_bytes)
                return await handler(Request(request.scope, _limit_stream(request, max_bytes)))

            return handle

    return SizeLimitedRoute


def _write_in_thread(
    endpoint: Callable[..., Any], status: int, threads: Executor | None
) -> Callable[..., Any]:
    """Wrap an endpoint to write its model as JSON, unless it sets headers itself."""
    parameters = signature(endpoint).parameters.values()
    if any(parameter.annotation in (Response, "Response") for parameter in parameters):
        return endpoint

    @wraps(endpoint)
    def answer(*args: Any, **values: Any) -> Any:
        result = endpoint(*args, **values)
        if not isinstance(result, BaseModel):
            return result
        body = result.__pydantic_serializer__.to_json(result, by_alias=True)
        return Response(body, status, media_type="application/json")

    @wraps(endpoint)
    async def answer_in_threads(*args: Any, **values: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, partial(answer, *args, **values))

    return answer if threads is None else answer_in_threads


def _is_announced_larger(request: Request, max_bytes: int) -> bool:
    size = request.headers.get("content-length", "0")
    return size.isascii() and size.isdigit() and int(size) > max_bytes


def _limit_stream(request: Request, max_bytes: int) -> Callable[[], Coroutine[Any, Any, Message]]:
    """Count the bytes of a body as they come: its announced size may be missing or wrong."""
    received = 0

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > max_bytes:
            raise _too_large(max_bytes)
        return message

    return receive


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(
        413, f"The body has more than {max_bytes:,} bytes; POST /v1/import takes files of any size."
    )
