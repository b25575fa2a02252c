"""Whether the server lives, and whether it can work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from engrams import __version__
from engrams.errors import EngramsError, StoreError
from engrams.memory import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.parts import Part
from engrams.surfaces.http.problems import problem

_SECONDS = 5.0


def router(engine: MemoryEngine, settings: Settings, parts: Sequence[Part]) -> APIRouter:
    """``GET /health`` and ``GET /ready``."""
    routes = APIRouter()

    @routes.get("/health")
    async def health() -> dict[str, Any]:
        """Answers as long as the process does; ``status`` is degraded where the store does not."""
        found = await _status(engine)
        report: dict[str, Any] = {
            "status": "degraded" if isinstance(found, EngramsError) else "ok",
            "version": __version__,
            "memory_store": place(settings),
            "jobs": {} if isinstance(found, EngramsError) else found.get("jobs", {}),
        }
        for part in parts:
            report.update(part.health())
        return report

    @routes.get("/ready")
    async def ready() -> Response:
        """503 while the store cannot be read."""
        found = await _status(engine)
        return problem(found) if isinstance(found, EngramsError) else JSONResponse({"ready": True})

    return routes


def place(settings: Settings) -> str:
    """Where memory is kept, as it may be shown: a path, or a database address without its password."""
    if settings.incognito:
        return ":memory:"
    url = settings.store.url
    if "://" in url:
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return url or str(settings.home.expanduser() / "memory.db")


async def _status(engine: MemoryEngine) -> Mapping[str, Any] | EngramsError:
    task = asyncio.create_task(asyncio.to_thread(engine.status))
    await asyncio.wait({task}, timeout=_SECONDS)
    if not task.done():
        return StoreError(f"The store did not answer in {_SECONDS:.0f} seconds.", hint="Look whether another process holds it.")
    fault = task.exception()
    return fault if isinstance(fault, EngramsError) else task.result()
