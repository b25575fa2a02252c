"""Load the mounts of all surfaces: REST, MCP, proxy, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from fastapi import APIRouter, FastAPI

from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.rest.errors import MethodNotAllowedRoutes

MODULES = (
    "engrams.surfaces.http.mem0.mount",
    "engrams.surfaces.http.api.mount",
    "engrams.surfaces.http.rest.mount",
    "engrams.surfaces.mcp.mount",
    "engrams.surfaces.ui.mount",
    "engrams.surfaces.proxy.mount",
)
"""Modules with ``create_mount(engine, settings) -> Mount``, in the order of their routes; the proxy
takes every path left.
"""


class ServerMount(Protocol):
    """Routes that share the server's socket, engine and lifespan."""

    def install(self, app: FastAPI) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def health(self) -> Mapping[str, Json]:
        """Fields to add to ``GET /health``."""
        ...


class RouterMount:
    """Mount of routers alone; other methods on their paths are answered 405."""

    def __init__(self, engine: MemoryEngine, routers: Sequence[APIRouter]) -> None:
        self._engine = engine
        self._routers = tuple(routers)

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        for router in self._routers:
            app.router.routes.extend(router.routes)
        fallback = MethodNotAllowedRoutes(
            [route for router in self._routers for route in router.routes]
        )
        app.router.routes.extend(fallback.routes_for(fallback.paths))

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def health(self) -> Mapping[str, Json]:
        return {}


def load_mounts(engine: MemoryEngine, settings: Settings) -> tuple[ServerMount, ...]:
    """Create all mounts for this engine."""
    return tuple(import_module(module).create_mount(engine, settings) for module in MODULES)
