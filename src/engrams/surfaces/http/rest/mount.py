"""The REST API as a part of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from engrams import build
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.rest import audit, feedback, files, garden, graph, jobs, memories, notebook, safety, search, sessions, stats
from engrams.surfaces.http.rest.errors import malformed, unserved
from engrams.surfaces.http.rest.fallback import Elsewhere
from engrams.types import Json

OWN = (
    *("memories", "search", "explain", "context", "purge", "scopes", "stats", "state", "settings", "sessions"),
    *("graph", "jobs", "audit", "safety", "feedback", "garden", "export", "import", "imports", "notebook", "timeline"),
)
"""What is ours under /v1; everything else there is the proxy's."""

_ROUTERS = (
    *(memories.router, search.router, notebook.router, stats.router, sessions.router),
    *(graph.router, jobs.router, files.router, audit.router, safety.router, feedback.router, garden.router),
)


class Rest:
    """Routes under /v1, before the proxy's: what is ours must never reach an upstream, whatever its method."""

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._uploads = None if settings.incognito else build.uploads(engine)

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        app.add_exception_handler(RequestValidationError, malformed)
        app.add_exception_handler(HTTPException, unserved)
        app.state.uploads = self._uploads
        routers = [make(self._settings) for make in _ROUTERS]
        for routes in routers:
            app.include_router(routes)
        own = [route for routes in routers for route in routes.routes]

        app.router.routes.extend(Elsewhere(own).at(path for name in OWN for path in (f"/v1/{name}", f"/v1/{name}/{{rest:path}}")))

    async def start(self) -> None:
        """Imports that were under way go on."""
        if self._uploads is not None:
            await asyncio.to_thread(self._uploads.resume)

    async def stop(self) -> None:
        """An import stops at its next piece and goes on in the next process."""
        if self._uploads is not None:
            await asyncio.to_thread(self._uploads.close)

    def health(self) -> Mapping[str, Json]:
        return {}


def part(engine: MemoryEngine, settings: Settings) -> Rest:
    """What the server asks every part for."""
    return Rest(engine, settings)
