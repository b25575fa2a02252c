"""The proxy as a part of the server: its routes, its start and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import httpx2
from fastapi import FastAPI
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engrams import types
from engrams.memory import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.proxy.chat import CLOSED, Chat
from engrams.surfaces.proxy.identity import login
from engrams.surfaces.proxy.offline import HOW, Offline
from engrams.surfaces.proxy.recall import LOOKUP_SECONDS, Recall
from engrams.surfaces.proxy.relay import Relay, departure, stop, unless
from engrams.surfaces.proxy.replies import failure
from engrams.surfaces.proxy.upstream import Upstream, down
from engrams.types import Json

CHAT = "/v1/chat/completions"


class Proxy:
    """Chat completions with memory; every other path as the upstream has it. Its routes go last: they take what is left."""

    def __init__(self, engine: MemoryEngine, settings: Settings, deadline: float = LOOKUP_SECONDS) -> None:
        self._settings = settings
        self._recall = Recall(engine, deadline)
        self._upstream = Upstream(settings.serve) if settings.serve.upstream else None
        self._warming: asyncio.Task[None] | None = None

    def install(self, app: FastAPI) -> None:
        if self._upstream is None:
            offline = Offline(self._recall, self._settings)
            app.router.routes.append(Route(CHAT, offline.chat, methods=["POST"]))
            app.router.routes.append(Route("/v1/models", offline.models, methods=["GET"]))
            app.router.routes.append(Route("/v1/models/{name}", offline.models, methods=["GET"]))
        else:
            chat = Chat(self._upstream, self._recall, self._settings)
            app.router.routes.append(Route(CHAT, chat.__call__, methods=["POST"]))
        app.mount("/", self._rest)

    async def start(self) -> None:
        """The first request of the day should find memory awake."""
        if self._settings.enabled:
            owner = types.Scope(("user", self._settings.user or login()))
            self._warming = asyncio.create_task(self._recall.warm(owner))

    async def stop(self) -> None:
        """Turns still being kept are waited for."""
        if self._warming is not None:
            await stop(self._warming)
        await self._recall.close()
        if self._upstream is not None:
            await self._upstream.close()

    def health(self) -> Mapping[str, Json]:
        serve = self._settings.serve
        return {
            "openai_base_url": self._upstream.address if self._upstream else "",
            "default_top_k": serve.top_k,
            "memory": dict(self._recall.counts()),
        }

    async def _rest(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Any method, any path."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003, "reason": "engrams relays no web sockets"})
            return
        if self._upstream is None:
            response: Response = failure(404, f"There is nothing at {scope['path']} without an upstream. {HOW}", "not_found")
            await response(scope, receive, send)
            return
        response = await self._pass(self._upstream, scope, receive)
        await response(scope, receive, send)

    async def _pass(self, upstream: Upstream, scope: Scope, receive: Receive) -> Response:
        names = {name for name, _ in scope["headers"]}
        inbound = Inbound(receive, b"content-length" in names or b"transfer-encoding" in names)
        url = upstream.target(scope["raw_path"], scope["query_string"])
        headers = upstream.headers(scope["headers"])
        gone = asyncio.create_task(inbound.left())

        async def answer() -> Response:
            try:
                found = await upstream.send(scope["method"], url, headers, inbound.body() if inbound.open else None)
            except httpx2.HTTPError as fault:
                return upstream.unreachable(fault)
            return Relay(found, down(found, decoded=False), gone=gone)

        response = await unless(gone, answer)
        if not isinstance(response, Relay):
            await stop(gone)
        return response or Response(status_code=CLOSED)


class Inbound:
    """A client's request as it comes in: first its body, then, some time, its leaving."""

    def __init__(self, receive: Receive, open: bool) -> None:
        self.open = open
        self._receive = receive
        self._over = asyncio.Event()
        if not open:
            self._over.set()

    async def body(self) -> AsyncIterator[bytes]:
        try:
            while self.open:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    raise httpx2.WriteError("the client left")
                self.open = bool(message.get("more_body"))
                yield message.get("body", b"")
        finally:
            self._over.set()

    async def left(self) -> None:
        await self._over.wait()
        await departure(self._receive)


def part(engine: MemoryEngine, settings: Settings) -> Proxy:
    """What the server asks every part for."""
    return Proxy(engine, settings)
