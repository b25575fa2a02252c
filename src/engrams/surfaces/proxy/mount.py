"""The proxy as a part of the server: its routes, its start and its end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping

import httpx2
from fastapi import FastAPI
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engrams import types
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.proxy.chat import CLOSED, Chat
from engrams.surfaces.proxy.dialect import CHAT, DIALECTS
from engrams.surfaces.proxy.errors import failure
from engrams.surfaces.proxy.memory import USUAL, Patience, Recall
from engrams.surfaces.proxy.models import Catalogue
from engrams.surfaces.proxy.offline import HOW, Offline
from engrams.surfaces.proxy.relay import Relay, departure, stop, unless
from engrams.surfaces.proxy.upstream import Upstreams, down, unrouted
from engrams.types import Json

_SWITCH = 0.0005
"""Seconds after which a thread that computes gives way; Python's own 0.005 is a lookup's and a job's worth for every piece."""

_PEEK = 16_000_000
"""Bytes of a body in which its model is looked for."""


class Proxy:
    """Conversations with memory; every other path as the upstream has it. Its routes go last: they take what is left."""

    def __init__(self, engine: MemoryEngine, settings: Settings, patience: Patience = USUAL) -> None:
        self._settings = settings
        self._recall = Recall(engine, patience)
        self._upstreams = Upstreams(settings.serve)
        self._warming: asyncio.Task[None] | None = None
        self._interval = sys.getswitchinterval()

    def install(self, app: FastAPI) -> None:
        if not self._upstreams:
            offline = Offline(self._recall, self._settings)
            app.router.routes.append(Route(CHAT.path, offline.chat, methods=["POST"]))
            app.router.routes.append(Route("/v1/models", offline.models, methods=["GET"]))
            app.router.routes.append(Route("/v1/models/{name}", offline.models, methods=["GET"]))
        else:
            for dialect in DIALECTS:
                chat = Chat(self._upstreams, self._recall, self._settings, dialect)
                app.router.routes.append(Route(dialect.path, chat.__call__, methods=["POST"]))
            if self._upstreams.routes:
                catalogue = Catalogue(self._upstreams)
                app.router.routes.append(Route("/v1/models", catalogue.models, methods=["GET"]))
                app.router.routes.append(Route("/api/tags", catalogue.tags, methods=["GET"]))
        app.mount("/", self._rest)

    async def start(self) -> None:
        """The first request of the day should find memory awake, and a stream's next piece should not wait for memory's threads."""
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        if self._settings.enabled:
            owner = types.Scope(("user", self._settings.owner))
            self._warming = asyncio.create_task(self._recall.warm(owner))

    async def stop(self) -> None:
        """Turns still being kept are waited for."""
        sys.setswitchinterval(self._interval)
        if self._warming is not None:
            await stop(self._warming)
        await self._recall.close()
        await self._upstreams.close()

    def health(self) -> Mapping[str, Json]:
        serve = self._settings.serve
        return {
            "openai_base_url": self._upstreams.main.address if self._upstreams.main else "",
            "routes": {model: server.address for models, server in self._upstreams.routes for model in models},
            "default_top_k": serve.top_k,
            "memory": dict(self._recall.counts()),
        }

    async def _rest(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Any method, any path."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003, "reason": "engrams relays no web sockets"})
            return
        if not self._upstreams:
            response: Response = failure(404, f"There is nothing at {scope['path']} without an upstream. {HOW}", "not_found")
            await response(scope, receive, send)
            return
        response = await self._pass(scope, receive)
        await response(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive) -> Response:
        names = {name for name, _ in scope["headers"]}
        inbound = Inbound(receive, b"content-length" in names or b"transfer-encoding" in names)
        model = await self._model(scope, inbound) if self._upstreams.routes else ""
        upstream = self._upstreams.of(model)
        if upstream is None:
            return unrouted(model)
        url = upstream.target(scope["raw_path"], scope["query_string"])
        headers = upstream.headers(scope["headers"])
        gone = asyncio.create_task(inbound.left())

        async def answer() -> Response:
            try:
                found = await upstream.send(scope["method"], url, headers, inbound.body() if inbound.given else None)
            except httpx2.HTTPError as fault:
                return upstream.unreachable(fault)
            return Relay(found, down(found, decoded=False), gone=gone)

        response = await unless(gone, answer)
        if not isinstance(response, Relay):
            await stop(gone)
        return response or Response(status_code=CLOSED)

    async def _model(self, scope: Scope, inbound: Inbound) -> str:
        """Which model a request names, in its path or its JSON body; where there is only one upstream nobody looks."""
        path: str = scope["path"]
        if path.startswith("/v1/models/"):
            return path.removeprefix("/v1/models/")
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        return model_of(await inbound.peek()) if b"json" in kind else ""


class Inbound:
    """A client's request as it comes in: first its body, then, some time, its leaving."""

    def __init__(self, receive: Receive, open: bool) -> None:
        self.given = open
        self.open = open
        self._receive = receive
        self._seen: list[bytes] = []
        self._over = asyncio.Event()
        if not open:
            self._over.set()

    async def peek(self) -> bytes:
        """The body up to ``_PEEK`` bytes; ``body`` gives it again."""
        size = 0
        while self.open and size < _PEEK:
            piece = await self._next()
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
                more = await self._next()
                if more is None:
                    raise httpx2.WriteError("the client left")
                yield more
        finally:
            self._over.set()

    async def _next(self) -> bytes | None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.open = False
            return None
        self.open = bool(message.get("more_body"))
        return bytes(message.get("body", b""))

    async def left(self) -> None:
        await self._over.wait()
        await departure(self._receive)


def model_of(raw: bytes) -> str:
    """The model that a JSON body names; empty: none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""


def part(engine: MemoryEngine, settings: Settings) -> Proxy:
    """What the server asks every part for."""
    return Proxy(engine, settings)
