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
from engrams.surfaces.http.invalid_requests import handle_invalid_request
from engrams.surfaces.http.method_not_allowed import MethodNotAllowedRoutes
from engrams.surfaces.http.problems import handle_http_error
from engrams.surfaces.http.rest import (
    audit,
    devices,
    document_additions,
    documents,
    feedback_crisis,
    garden,
    graph,
    import_export,
    imports,
    jobs,
    memories,
    model,
    notebook_timeline,
    quarantine,
    search,
    sessions,
    spaces,
    stats,
)
from engrams.surfaces.http.rest.permissions import REST_PERMISSIONS

_ROUTERS = (
    memories.router,
    search.router,
    notebook_timeline.router,
    stats.router,
    sessions.router,
    graph.router,
    jobs.router,
    import_export.router,
    imports.router,
    audit.router,
    feedback_crisis.safety_router,
    feedback_crisis.feedback_router,
    garden.router,
    model.router,
    quarantine.router,
    documents.router,
    devices.router,
    spaces.router,
    document_additions.router,
)
"""Functions that make a router of the settings."""


class RestMount:
    """Routes under /v1, before the proxy's: our paths never reach an upstream."""

    permissions = REST_PERMISSIONS

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._uploads = None if settings.incognito else admin.open_uploads(engine)

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        app.add_exception_handler(RequestValidationError, handle_invalid_request)
        app.add_exception_handler(HTTPException, handle_http_error)
        app.state.uploads = self._uploads
        routes = [
            route for create_router in _ROUTERS for route in create_router(self._settings).routes
        ]
        app.router.routes.extend(routes)
        fallback = MethodNotAllowedRoutes(routes)
        # Every other segment under /v1 is the proxy's.
        segments = sorted({path.split("/")[2] for path in fallback.paths})
        paths = [
            path
            for segment in segments
            for path in (f"/v1/{segment}", f"/v1/{segment}/{{rest:path}}")
        ]
        app.router.routes.extend(fallback.routes_for(paths))

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
