"""Mount of MCP at /mcp: one MCP server for each owner and profile, made at the first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
from engrams.installation import install_hint
from engrams.settings import Settings
from engrams.surfaces.mcp.profile import McpProfile

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_OWNER = "engrams.owner"
_MAX_SERVERS = 256
"""Servers that run at once: the one not asked for longest ends, and is started anew when asked."""


@dataclass(slots=True)
class _OwnerServer:
    """MCP server of one owner and tool profile."""

    sessions: StreamableHTTPSessionManager
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it takes requests."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end it; also where it failed, so that it is not asked again."""

    async def run(self) -> None:
        """Run until it is told to stop: its sessions live in a task of their own."""
        try:
            async with self.sessions.run():
                self.ready.set()
                await self.stop.wait()
        finally:
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
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        try:
            owner = self._find_owner(headers)
            scope.setdefault(_OWNER, owner.owner.key)
            server = await self._get_server(owner, profile)
        except ImportError as error:
            text = f"The parts for MCP are not installed ({error.name}). {install_hint('mcp')}"
            await _make_error(501, "not_installed", text)(scope, receive, send)
            return
        except EngramsError as error:
            text = f"{error.message} {error.hint}".strip()
            await _make_error(404, "invalid_request", text)(scope, receive, send)
            return
        await server.sessions.handle_request(scope, receive, send)

    def _find_owner(self, headers: Mapping[str, str]) -> Scope:
        """Find the owner by key, else by header.

        The server around this puts a key's owner into a header that no client can send.
        """
        user = unquote(headers.get("x-engrams-user", "")).strip()
        owner_of_key = headers.get("x-engrams-owner", "")
        if not owner_of_key:
            return Scope(("user", user or self._settings.owner))
        owner = Scope.parse(unquote(owner_of_key))
        return owner if user in ("", owner.labels[-1]) else owner.within("user", user)

    async def _get_server(self, owner: Scope, profile: str) -> _OwnerServer:
        async with self._lock:
            server = self._servers.pop((owner.key, profile), None)
            if server is None or server.stop.is_set():
                sessions = await asyncio.to_thread(self._create_sessions, owner, profile)
                server = _OwnerServer(sessions)
                task = asyncio.create_task(server.run())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                await server.ready.wait()
            self._servers[owner.key, profile] = server  # the last of the table: asked just now
            while len(self._servers) > _MAX_SERVERS:
                self._servers.pop(next(iter(self._servers))).stop.set()
            return server

    def _create_sessions(self, owner: Scope, profile: str) -> Any:
        # The protocol's package is large, and most servers are never asked for it.
        from mcp.server.transport_security import TransportSecuritySettings

        from engrams.surfaces.mcp.server import create_server

        server = create_server(self._engine, owner, self._load_profile(profile))
        server.streamable_http_app(
            # Of several processes none knows which answers the next request of a session.
            stateless_http=self._settings.serve.workers > 1,
            # Names of hosts and origins were checked by the server around this.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return server.session_manager


def _make_error(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": kind}}, status)


class _McpEndpoint:
    """ASGI endpoint of ``/mcp``, so that it gets the raw request."""

    def __init__(self, mount: McpMount) -> None:
        self._mount = mount

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self._mount.answer(scope, receive, send)
