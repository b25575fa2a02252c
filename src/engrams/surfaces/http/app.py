"""The server's application: its guard, its errors, its parts, its start and end."""

from __future__ import annotations

from asyncio import create_task, to_thread
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from engrams import __version__, build
from engrams.apikeys import Keyring
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.settings import Settings
from engrams.surfaces.http import health, problems
from engrams.surfaces.http.activity import Pulse
from engrams.surfaces.http.auth import Gate
from engrams.surfaces.http.metrics import Metrics
from engrams.surfaces.http.mounts import Part, load
from engrams.surfaces.http.observers import audited, charted, logged
from engrams.surfaces.http.origins import Guard, is_loopback
from engrams.surfaces.http.rest.fallback import Elsewhere
from engrams.surfaces.http.retention import swept
from engrams.surfaces.http.telemetry import Observer, Witness
from engrams.surfaces.http.tracing import traced


def create_app(engine: MemoryEngine, settings: Settings, parts: Sequence[Part] | None = None) -> FastAPI:
    """The ASGI application over an open engine, which stays the caller's to close. ``parts``: None takes all there are.

    The end of its life waits for turns that are still being kept.
    """
    chosen = load(engine, settings) if parts is None else tuple(parts)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            logs = (app.state.safety, app.state.feedback)
            for log in (app.state.audit, *logs):
                stack.callback(log.close)
            stack.callback(create_task(swept(logs)).cancel)
            if engine.vault is not None and settings.vault.watch != "off":
                engine.vault.watch()
                stack.push_async_callback(to_thread, engine.vault.unwatch)
            for part in chosen:
                stack.push_async_callback(part.stop)
                await part.start()
            yield

    # The framework's own traces and logs would hold addresses and messages that quote memory; ours do not (spans).
    quiet = TelemetryConfig(tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False)
    app = FastAPI(title="engrams", version=__version__, lifespan=life, docs_url=None, redoc_url=None, telemetry=quiet)
    _surround(app, engine, settings)
    app.add_exception_handler(EngramsError, problems.handle)
    routes = health.router(engine, settings, chosen, needs_keys(settings))
    app.include_router(routes)
    others = Elsewhere(routes.routes)
    app.router.routes.extend(others.at(others.paths))
    for part in chosen:
        part.install(app)
    return app


def needs_keys(settings: Settings) -> bool:
    """Whether nobody may come in without a key."""
    return settings.serve.require_keys == "always" or not is_loopback(settings.serve.host.strip("[]").casefold())


def _surround(app: FastAPI, engine: MemoryEngine, settings: Settings) -> None:
    """What every request goes through, from the outside in: it is seen, web pages are kept out, keys are asked for."""
    serve = settings.serve
    log, pulse, metrics = build.audit(settings, engine.now), Pulse(), Metrics(engine)
    app.state.audit, app.state.pulse = log, pulse
    app.state.safety, app.state.feedback = build.safety(settings, engine.now), build.feedback(settings, engine.now)
    observers: list[Observer | None] = [
        metrics.note,
        charted(pulse, engine.now),
        audited(log, reads=settings.audit.reads),
        traced(),
        logged(engine.now) if serve.log == "json" else None,
    ]
    keys = Keyring.of(settings.home)
    app.add_middleware(Gate, keys=keys, needed=needs_keys(settings), rate=serve.rate_limit, clock=engine.now, audit=log)
    app.add_middleware(Guard, own=serve.host, names=serve.allowed_hosts, origins=serve.allowed_origins)
    app.add_middleware(Witness, observers=[one for one in observers if one is not None], clock=engine.now)
    app.include_router(metrics.router())
