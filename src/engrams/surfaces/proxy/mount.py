"""Mount of the proxy."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from difflib import get_close_matches
from functools import partial

import httpx2
from fastapi import FastAPI
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
    DEFAULT_DEADLINES,
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

_PARTS = (
    "chat",
    "completions",
    "messages",
    "embeddings",
    "models",
    "responses",
    "audio",
    "images",
    "files",
)
_OPENAI = tuple(f"/v1/{part}" for part in _PARTS)
_SWITCH = 0.0005
"""Thread switch interval in seconds; Python's 0.005 would delay every piece of a stream."""

_PEEK = 16_000_000
"""Bytes of a body searched for its model."""


class ProxyMount:
    """Chat with memory; every other path is relayed unchanged.

    Its routes go last.
    """

    permissions = ()

    def __init__(
        self,
        engine: MemoryEngine,
        settings: Settings,
        deadlines: MemoryDeadlines = DEFAULT_DEADLINES,
    ) -> None:
        self._settings = settings
        self._memory = TimeLimitedEngine(engine, deadlines)
        self._upstreams = UpstreamRouter(settings.serve)
        self._warming: asyncio.Task[None] | None = None
        self._interval = sys.getswitchinterval()

    def install(self, app: FastAPI) -> None:
        if not self._upstreams:
            local = LocalModelEndpoint(self._memory)
            quotes = {
                each.path: QuoteAnswerEndpoint(self._memory, self._settings, each).__call__
                for each in DIALECTS
            }
            posts = {
                **quotes,
                "/v1/embeddings": local.embeddings,
                "/api/embed": local.embed,
                "/api/embeddings": local.embed,
            }
            named = {"/v1/models/{name:path}": local.models, "/api/version": local.version}
            gets = {"/v1/models": local.models, "/api/tags": local.tags, **named}
        else:
            posts = {
                each.path: (
                    ProxyChatEndpoint(self._upstreams, self._memory, self._settings, each).__call__
                )
                for each in DIALECTS
            }
            lister = UpstreamModelLister(self._upstreams)
            gets = (
                {"/v1/models": lister.models, "/api/tags": lister.tags}
                if self._upstreams.routes
                else {}
            )
        # A base URL without /v1 is the most common mistake of clients; memory would be left out in
        # silence.
        posts |= {each.path.removeprefix("/v1"): posts[each.path] for each in DIALECTS}
        for method, routes in (("POST", posts), ("GET", gets)):
            app.router.routes += [
                Route(path, answer, methods=[method]) for path, answer in routes.items()
            ]
        app.mount("/", self._relay_any)

    async def start(self) -> None:
        """Warm memory, and switch threads faster for streams."""
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        if self._settings.enabled:
            owner = core.Scope(self._settings.owner_labels("any"))
            self._warming = asyncio.create_task(self._memory.warm(owner))

    async def stop(self) -> None:
        """Wait for turns being stored."""
        sys.setswitchinterval(self._interval)
        if self._warming is not None:
            await cancel_task(self._warming)
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
        response = await self._relay(scope, receive)
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

        async def answer(gone: asyncio.Task[None]) -> Response:
            try:
                found = await upstream.send(
                    scope["method"], url, headers, inbound.body() if inbound.has_body else None
                )
            except httpx2.HTTPError as fault:
                return upstream.unreachable_error(scope["path"], fault)
            return RelayResponse(found, response_headers(found, decoded=False), gone)

        return await run_call(inbound.wait_departure(), answer)

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


def _explain_nothing(scope: Scope) -> str:
    """Write the 404 message, with the nearest known path."""
    path = scope["path"]
    ours = {
        getattr(route, "path", "")
        for route in scope["app"].routes
        if "{" not in getattr(route, "path", "{")
    }
    near = (
        get_close_matches(path, ours - set(_OPENAI), 1, 0.8)
        if not path.startswith((*_OPENAI, "/api/"))
        else []
    )
    if near:
        return (
            f"There is nothing at {path}. Did you mean {near[0]}? GET /openapi.json lists all"
            " paths."
        )
    if path.startswith(_OPENAI):
        return f"There is nothing at {path} without an upstream. {HOW}"
    return (
        f"There is nothing at {path}. GET /openapi.json lists all paths; what a model server has"
        f" needs an upstream. {HOW}"
    )


class InboundRequest:
    """Client's request: its body, then its disconnect."""

    def __init__(self, receive: Receive, open: bool) -> None:
        self.has_body = open
        self.open = open
        self._receive = receive
        self._seen: list[bytes] = []
        self._over = asyncio.Event()
        if not open:
            self._over.set()

    async def peek(self) -> bytes:
        """Read up to ``_PEEK`` bytes of the body; ``body`` repeats them."""
        size = 0
        while self.open and size < _PEEK:
            piece = await self._next_piece()
            if piece is None:
                break
            self._seen.append(piece)
            size += len(piece)
        return b"".join(self._seen)

    async def body(self) -> AsyncIterator[bytes]:
        try:
            for piece in self._seen:
                yield piece
            while self.open:
                more = await self._next_piece()
                if more is None:
                    raise httpx2.WriteError("the client left")
                yield more
        finally:
            self._over.set()

    async def _next_piece(self) -> bytes | None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.open = False
            return None
        self.open = bool(message.get("more_body"))
        return bytes(message.get("body", b""))

    async def wait_departure(self) -> None:
        await self._over.wait()
        await wait_disconnect(self._receive)


def model_name(raw: bytes) -> str:
    """Extract the model of a JSON body; empty: none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""
