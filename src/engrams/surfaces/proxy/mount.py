"""Mount of the proxy: chats with memory in them; every other path goes to the upstream as it is."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from difflib import get_close_matches
from functools import partial

import httpx2
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engrams import core
from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.chat_endpoint import ProxyChatEndpoint, run_beside
from engrams.surfaces.proxy.chat_protocols import DIALECTS
from engrams.surfaces.proxy.local_models import LocalModelEndpoint
from engrams.surfaces.proxy.memory_deadlines import (
    MemoryDeadlines,
    TimeLimitedEngine,
)
from engrams.surfaces.proxy.quote_answers import HOW, QuoteAnswerEndpoint
from engrams.surfaces.proxy.relay import RelayResponse, cancel_task, run_call, wait_disconnect
from engrams.surfaces.proxy.upstream_servers import (
    UpstreamModelLister,
    UpstreamRouter,
    no_upstream_error,
    response_headers,
)

_OPENAI_PATHS = (
    "/v1/chat",
    "/v1/completions",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/models",
    "/v1/responses",
    "/v1/audio",
    "/v1/images",
    "/v1/files",
)
_UNVERSIONED = re.compile(
    rb"/(?:models(?=/|$)|embeddings$|completions$|moderations$|messages/count_tokens$"
    rb"|audio/(?:speech|transcriptions|translations)$|images/(?:generations|edits|variations)$)"
)
"""Paths of OpenAI's and Anthropic's API behind a base URL without ``/v1``; no other server's page
is at one of them."""
_SWITCH_SECONDS = 0.0005
"""Thread switch interval; Python's 0.005 would delay every piece of a stream."""

_PEEK_BYTES = 16_000_000
"""Bytes of a body searched for its model."""


Endpoint = Callable[[Request], Awaitable[Response]]


class ProxyMount:
    """Chat with memory; every other path is relayed unchanged.

    Its routes go last.
    """

    permissions = ()

    def __init__(
        self,
        engine: MemoryEngine,
        settings: Settings,
        deadlines: MemoryDeadlines | None = None,
    ) -> None:
        self._settings = settings
        self._memory = TimeLimitedEngine(engine, deadlines)
        self._upstreams = UpstreamRouter(settings.serve)
        self._warm_up: asyncio.Task[None] | None = None
        self._earlier_switch_seconds = sys.getswitchinterval()

    def install(self, app: FastAPI) -> None:
        posts, gets = self._proxy_routes() if self._upstreams else self._local_routes()
        # A base URL without /v1 is the most common mistake of clients; memory would be left out in
        # silence.
        for method, routes in (("POST", posts), ("GET", gets)):
            app.router.routes += [
                Route(path, endpoint, methods=[method])
                for full_path, endpoint in routes.items()
                for path in dict.fromkeys((full_path, full_path.removeprefix("/v1")))
            ]
        app.mount("/", self._relay_any)

    def _proxy_routes(self) -> tuple[dict[str, Endpoint], dict[str, Endpoint]]:
        """List the routes by POST and by GET where there is an upstream."""
        posts: dict[str, Endpoint] = {}
        for dialect in DIALECTS:
            endpoint = ProxyChatEndpoint(self._upstreams, self._memory, self._settings, dialect)
            posts[dialect.path] = endpoint.__call__
        if not self._upstreams.routes:
            return posts, {}
        lister = UpstreamModelLister(self._upstreams)
        return posts, {"/v1/models": lister.models, "/api/tags": lister.tags}

    def _local_routes(self) -> tuple[dict[str, Endpoint], dict[str, Endpoint]]:
        """List the routes by POST and by GET that memory answers itself."""
        local = LocalModelEndpoint(self._memory)
        posts: dict[str, Endpoint] = {}
        for dialect in DIALECTS:
            endpoint = QuoteAnswerEndpoint(self._memory, self._settings, dialect)
            posts[dialect.path] = endpoint.__call__
        posts |= {
            "/v1/embeddings": local.embeddings,
            "/api/embed": local.embed,
            "/api/embeddings": local.embed,
        }
        gets: dict[str, Endpoint] = {
            "/v1/models": local.models,
            "/api/tags": local.tags,
            "/v1/models/{name:path}": local.models,
            "/api/version": local.version,
        }
        return posts, gets

    async def start(self) -> None:
        """Load memory in the background, and switch threads faster for streams until ``stop``."""
        self._earlier_switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        if self._settings.enabled:
            owner = core.Scope(self._settings.owner_labels("any"))
            self._warm_up = asyncio.create_task(self._memory.warm(owner))

    async def stop(self) -> None:
        """Wait for turns being stored."""
        sys.setswitchinterval(self._earlier_switch_seconds)
        if self._warm_up is not None:
            await cancel_task(self._warm_up)
        await self._memory.close()
        await self._upstreams.close()

    def health(self) -> Mapping[str, Json]:
        serve = self._settings.serve
        return {
            "openai_base_url": self._upstreams.main.address if self._upstreams.main else "",
            "routes": {
                model: server.address
                for models, server in self._upstreams.routes
                for model in models
            },
            "default_top_k": serve.top_k,
            "memory": dict(self._memory.counts()),
        }

    async def _relay_any(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Relay any method and path."""
        if scope["type"] != "http":
            await send(
                {"type": "websocket.close", "code": 1003, "reason": "engrams relays no web sockets"}
            )
            return
        if not scope.get("engrams.relay"):
            text = f"There is nothing at {scope['path']}. GET /openapi.json lists all paths."
            await error_response(scope["path"], 404, text, "not_found")(scope, receive, send)
            return
        if not self._upstreams:
            response: Response = error_response(
                scope["path"], 404, _explain_nothing(scope), "not_found"
            )
            await response(scope, receive, send)
            return
        response = await self._relay(_add_version(scope), receive)
        await response(scope, receive, send)

    async def _relay(self, scope: Scope, receive: Receive) -> Response:
        names = {name for name, _ in scope["headers"]}
        inbound = InboundRequest(
            receive, b"content-length" in names or b"transfer-encoding" in names
        )
        model = await self._find_model(scope, inbound) if self._upstreams.routes else ""
        upstream = self._upstreams.find(model)
        if upstream is None:
            return no_upstream_error(scope["path"], model)
        url = upstream.url_for(scope["raw_path"], scope["query_string"])
        headers = upstream.request_headers(scope["headers"])

        async def ask_upstream(departure: asyncio.Task[None]) -> Response:
            body = inbound.body() if inbound.has_body else None
            try:
                answer = await upstream.send(scope["method"], url, headers, body)
            except httpx2.HTTPError as error:
                return upstream.unreachable_error(scope["path"], error)
            return RelayResponse(answer, response_headers(answer, decoded=False), departure)

        return await run_call(inbound.wait_departure(), ask_upstream)

    async def _find_model(self, scope: Scope, inbound: InboundRequest) -> str:
        """Find the model in the path or JSON body, for several upstreams."""
        path: str = scope["path"]
        if path.startswith("/v1/models/"):
            return path.removeprefix("/v1/models/")
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        if b"json" not in kind:
            return ""
        raw = await inbound.peek()
        return await run_beside(len(raw), partial(model_name, raw))


def _add_version(scope: Scope) -> Scope:
    """Put ``/v1`` before a path of a model server's API that lacks it."""
    if not _UNVERSIONED.match(scope["raw_path"]):
        return scope
    return {**scope, "path": "/v1" + scope["path"], "raw_path": b"/v1" + scope["raw_path"]}


def _explain_nothing(scope: Scope) -> str:
    """Write the 404 message, with the nearest known path."""
    path = scope["path"]
    if not path.startswith((*_OPENAI_PATHS, "/api/")):
        paths = {getattr(route, "path", "{") for route in scope["app"].routes}
        fixed_paths = {route_path for route_path in paths if "{" not in route_path}
        near = get_close_matches(path, fixed_paths - set(_OPENAI_PATHS), 1, 0.8)
        if near:
            return (
                f"There is nothing at {path}. Did you mean {near[0]}? GET /openapi.json lists all"
                " paths."
            )
    if path.startswith(_OPENAI_PATHS):
        return f"There is nothing at {path} without an upstream. {HOW}"
    return (
        f"There is nothing at {path}. GET /openapi.json lists all paths. Paths of a model"
        f" server need an upstream. {HOW}"
    )


class InboundRequest:
    """Client's request: its body, then its disconnect."""

    def __init__(self, receive: Receive, has_body: bool) -> None:
        self.has_body = has_body
        self.is_open = has_body
        """True while more of the body may come."""
        self._receive = receive
        self._peeked: list[bytes] = []
        self._body_read = asyncio.Event()
        if not has_body:
            self._body_read.set()

    async def peek(self) -> bytes:
        """Read up to ``_PEEK_BYTES`` of the body; ``body`` repeats them."""
        size = 0
        while self.is_open and size < _PEEK_BYTES:
            piece = await self._next_piece()
            if piece is None:
                break
            self._peeked.append(piece)
            size += len(piece)
        return b"".join(self._peeked)

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body. httpx2.WriteError: the client left in the middle."""
        try:
            for piece in self._peeked:
                yield piece
            while self.is_open:
                received = await self._next_piece()
                if received is None:
                    raise httpx2.WriteError("the client left")
                yield received
        finally:
            self._body_read.set()

    async def _next_piece(self) -> bytes | None:
        """Receive a piece of the body; None: the client left."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.is_open = False
            return None
        self.is_open = bool(message.get("more_body"))
        return bytes(message.get("body", b""))

    async def wait_departure(self) -> None:
        """Wait until the client has left, once its body was read."""
        await self._body_read.wait()
        await wait_disconnect(self._receive)


def model_name(raw: bytes) -> str:
    """Extract the model of a JSON body; empty: none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""
