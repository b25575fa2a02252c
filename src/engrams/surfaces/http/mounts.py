"""Mounts: routes that share the server's socket, engine and lifespan.

`ServerMount` is what the application asks of each; `RouterMount` is one that only has routes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fastapi import APIRouter, FastAPI

from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.surfaces.http.method_not_allowed import MethodNotAllowedRoutes
from engrams.surfaces.http.permissions import OperationPermission


class ServerMount(Protocol):
    """Routes that share the server's socket, engine and lifespan."""

    @property
    def permissions(self) -> Sequence[OperationPermission]:
        """Rights and names of the mount's operations."""
        ...

    def install(self, app: FastAPI) -> None:
        """Add the routes to the application."""
        ...

    async def start(self) -> None:
        """Begin what runs beside the routes; called before the first request."""
        ...

    async def stop(self) -> None:
        """End it; called after the last request, also where ``start`` failed."""
        ...

    def health(self) -> Mapping[str, Json]:
        """Return fields to add to ``GET /health``."""
        ...


class RouterMount:
    """Mount of routers alone; other methods on their paths are answered 405."""

    def __init__(
        self,
        engine: MemoryEngine,
        routers: Sequence[APIRouter],
        permissions: Sequence[OperationPermission],
    ) -> None:
        self.permissions = permissions
        self._engine = engine
        self._routers = tuple(routers)

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        routes = [route for router in self._routers for route in router.routes]
        app.router.routes.extend(routes)
        fallback = MethodNotAllowedRoutes(routes)
        app.router.routes.extend(fallback.routes_for(fallback.paths))

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def health(self) -> Mapping[str, Json]:
        return {}
