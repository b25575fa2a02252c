"""The API under /api as a part of the server."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.api import agent, control
from engrams.surfaces.http.rest.fallback import Elsewhere
from engrams.types import Json


class Api:
    """Routes under /api. What else there is below it belongs to the model server behind."""

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings

    def install(self, app: FastAPI) -> None:
        app.state.engine = self._engine
        routers = (control.router(self._settings), agent.router(self._settings))
        for routes in routers:
            app.include_router(routes)
        others = Elsewhere([route for routes in routers for route in routes.routes])
        app.router.routes.extend(others.at(others.paths))

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def health(self) -> Mapping[str, Json]:
        return {}


def part(engine: MemoryEngine, settings: Settings) -> Api:
    """What the server asks every part for."""
    return Api(engine, settings)
