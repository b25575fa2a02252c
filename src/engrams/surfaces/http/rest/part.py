"""The REST API as a part of the server."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engrams.memory import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.rest import memories, reads, upkeep
from engrams.surfaces.http.rest.answers import failure, malformed, unserved
from engrams.surfaces.http.rest.caller import Door
from engrams.types import Json

_OWN = ("memories", "search", "explain", "context", "purge", "scopes", "stats", "jobs", "export", "import")


class Rest:
    """Routes under /v1, before the proxy's: what is ours must never reach an upstream, whatever its method."""

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings

    def install(self, app: FastAPI) -> None:
        door = Door(self._engine, self._settings)
        app.add_exception_handler(RequestValidationError, malformed)
        app.add_exception_handler(HTTPException, unserved)
        for routes in (memories.router, reads.router, upkeep.router, upkeep.transfer):
            app.include_router(routes(door, self._settings))
        known = {(route.path, method) for route in app.routes if isinstance(route, Route) for method in route.methods or ()}
        for name in _OWN:
            for path in (f"/v1/{name}", f"/v1/{name}/{{rest:path}}"):
                app.router.routes.append(_Elsewhere(path, frozenset(method for each, method in known if each == path)))

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def health(self) -> Mapping[str, Json]:
        return {}


def part(engine: MemoryEngine, settings: Settings) -> Rest:
    """What the server asks every part for."""
    return Rest(engine, settings)
