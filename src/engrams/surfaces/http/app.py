"""The server's application: its guard, its errors, its parts, its start and end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from engrams import __version__
from engrams.errors import EngramsError
from engrams.memory import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http import health, problems
from engrams.surfaces.http.guard import Guard
from engrams.surfaces.http.parts import Part, load
from engrams.surfaces.http.server import serve as serve


def create_app(engine: MemoryEngine, settings: Settings, parts: Sequence[Part] | None = None) -> FastAPI:
    """The ASGI application over an open engine, which stays the caller's to close. ``parts``: None takes all there are.

    The end of its life waits for turns that are still being kept.
    """
    chosen = load(engine, settings) if parts is None else tuple(parts)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for part in chosen:
                stack.push_async_callback(part.stop)
                await part.start()
            yield

    app = FastAPI(title="engrams", version=__version__, lifespan=life, docs_url=None, redoc_url=None)
    app.add_middleware(Guard, own=settings.serve.host)
    app.add_exception_handler(EngramsError, problems.handle)
    app.include_router(health.router(engine, settings, chosen))
    for part in chosen:
        part.install(app)
    return app
