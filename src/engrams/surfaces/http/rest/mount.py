"""Mount of the REST API under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from engrams import admin
from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.rest import (
    audit,
    feedback_crisis,
    garden,
    graph,
    import_export,
    jobs,
    memories,
    model,
    notebook_timeline,
    search,
    sessions,
    stats,
)
from engrams.surfaces.http.rest.errors import (
    MethodNotAllowedRoutes,
    handle_http_error,
    handle_invalid_request,
)

_ROUTERS = (
    *(memories.router, search.router, notebook_timeline.router, stats.router, sessions.router),
    *(
        graph.router,
        jobs.router,
        import_export.router,
        audit.router,
        feedback_crisis.safety_router,
        feedback_crisis.feedback_router,
        garden.router,
        model.router,
    ),
)


class RestMount:
    """Routes under /v1, before the proxy's: our paths never reach an upstream."""

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._uploads = None if settings.incognito else admin.open_uploads(engine)

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        app.add_exception_handler(RequestValidationError, handle_invalid_request)
        app.add_exception_handler(HTTPException, handle_http_error)
        app.state.uploads = self._uploads
        routers = [make(self._settings) for make in _ROUTERS]
        for routes in routers:
            app.router.routes.extend(routes.routes)
        fallback = MethodNotAllowedRoutes([route for routes in routers for route in routes.routes])
        own = sorted(
            {path.split("/")[2] for path in fallback.paths}
        )  # every other segment under /v1 is the proxy's
        app.router.routes.extend(
            fallback.routes_for(
                path for name in own for path in (f"/v1/{name}", f"/v1/{name}/{{rest:path}}")
            )
        )

    async def start(self) -> None:
        """Resume unfinished imports."""
        if self._uploads is not None:
            await asyncio.to_thread(self._uploads.resume)

    async def stop(self) -> None:
        """Stop imports at their next piece; the next process resumes them."""
        if self._uploads is not None:
            await asyncio.to_thread(self._uploads.close)

    def health(self) -> Mapping[str, Json]:
        return {}


def create_mount(engine: MemoryEngine, settings: Settings) -> RestMount:
    """Create the REST mount."""
    return RestMount(engine, settings)
