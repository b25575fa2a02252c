"""Mount of MCP at /mcp, one server an owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from engrams.core import Json, Scope
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.installation import install_hint
from engrams.settings import Settings
from engrams.surfaces.mcp.profile import McpProfile

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_OWNER = "engrams.owner"
_MOST = 256
"""Servers that are kept: an owner not heard of for longest starts anew."""


@dataclass(slots=True)
class _OwnerServer:
    """MCP session manager of one owner and tool profile."""

    sessions: StreamableHTTPSessionManager
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self) -> None:
        try:
            async with self.sessions.run():
                self.ready.set()
                await self.stop.wait()
        finally:
            # One that failed is not asked again.
            self.stop.set()


class McpMount:
    """Tools of memory at ``/mcp``, and those of another profile at ``/mcp/PROFILE``.

    A key gives its owner's memory; without keys the header ``X-Engrams-User`` or the setting
    ``user`` names it.
    """

    permissions = ()

    def __init__(
        self, engine: MemoryEngine, settings: Settings, load_profile: Callable[[str], McpProfile]
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._load_profile = load_profile
        self._servers: dict[tuple[str, str], _OwnerServer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    def install(self, app: FastAPI) -> None:
        app.router.routes += [
            Route(path, _McpEndpoint(self)) for path in ("/mcp", "/mcp/{profile}")
        ]

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """End all sessions."""
        for server in self._servers.values():
            server.stop.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def health(self) -> Mapping[str, Json]:
        return {}

    async def answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer an MCP request with its owner's memory."""
        profile = scope["path_params"].get("profile", "engrams")
        try:
            owner = self._find_owner(
                {
                    name.decode("latin-1"): value.decode("latin-1")
                    for name, value in scope["headers"]
                }
            )
            scope.setdefault(_OWNER, owner.owner.key)
            server = await self._get_server(owner, profile)
        except ImportError as problem:
            text = f"The parts for MCP are not installed ({problem.name}). {install_hint('mcp')}"
            await JSONResponse({"error": {"message": text, "type": "not_installed"}}, 501)(
                scope, receive, send
            )
            return
        except EngramsError as problem:
            text = f"{problem.message} {problem.hint}".strip()
            await JSONResponse({"error": {"message": text, "type": "invalid_request"}}, 404)(
                scope, receive, send
            )
            return
        await server.sessions.handle_request(scope, receive, send)

    def _find_owner(self, headers: Mapping[str, str]) -> Scope:
        """Find the owner by key, else by header."""
        user = unquote(headers.get("x-engrams-user", "")).strip()
        keyed = headers.get("x-engrams-owner", "")
        if not keyed:
            return Scope(("user", user or self._settings.owner))
        owner = Scope.parse(unquote(keyed))
        return owner if user in ("", owner.labels[-1]) else owner.within("user", user)

    async def _get_server(self, owner: Scope, profile: str) -> _OwnerServer:
        async with self._lock:
            known = self._servers.pop((owner.key, profile), None)
            if known is None or known.stop.is_set():
                known = _OwnerServer(await asyncio.to_thread(self._make_sessions, owner, profile))
                task = asyncio.create_task(known.hold())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                await known.ready.wait()
            self._servers[owner.key, profile] = known
            while len(self._servers) > _MOST:
                self._servers.pop(next(iter(self._servers))).stop.set()
            return known

    def _make_sessions(self, owner: Scope, profile: str) -> Any:
        # The protocol's package is large, and most servers are never asked for it.
        from mcp.server.transport_security import TransportSecuritySettings

        from engrams.surfaces.mcp.server import create_server

        server = create_server(self._engine, owner, self._load_profile(profile))
        # Names of hosts and origins were checked by the server around this.
        # Of several processes none knows which answers the next request of a session.
        many = self._settings.serve.workers > 1
        server.streamable_http_app(
            stateless_http=many,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return server.session_manager


class _McpEndpoint:
    """ASGI endpoint of ``/mcp``, so that it gets the raw request."""

    def __init__(self, mount: McpMount) -> None:
        self._mount = mount

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self._mount.answer(scope, receive, send)
