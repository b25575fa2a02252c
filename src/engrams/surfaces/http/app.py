"""Application of the server: middleware, error handlers, mounts, lifespan."""

from __future__ import annotations

from asyncio import create_task, to_thread
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from engrams import __version__, admin
from engrams.api_keys import RequestQuotaCounter
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.settings import Settings
from engrams.surfaces.http import health_checks, telemetry
from engrams.surfaces.http.auth import ApiKeyMiddleware, RequestRates
from engrams.surfaces.http.fixed_paths import FixedPathRoute
from engrams.surfaces.http.load_mounts import ServerMount, load_mounts
from engrams.surfaces.http.origin_guard import OriginGuardMiddleware, is_loopback
from engrams.surfaces.http.request_observers import (
    OwnerActivityChart,
    RequestMetrics,
    audit_observer,
    chart_observer,
    log_observer,
    trace_observer,
)
from engrams.surfaces.http.rest.errors import MethodNotAllowedRoutes
from engrams.surfaces.http.retention import sweep_logs
from engrams.surfaces.http.server_role import PeerMiddleware, ServerRole
from engrams.surfaces.http.telemetry import Observer, TelemetryMiddleware
from engrams.surfaces.http.thread_counts import count_workers


def create_app(
    engine: MemoryEngine,
    settings: Settings,
    mounts: Sequence[ServerMount] | None = None,
    role: ServerRole | None = None,
) -> FastAPI:
    """Create the ASGI application over an open engine.

    The engine stays the caller's to close. ``mounts``: None takes all. ``role``: among several
    processes on one port. Shutdown waits for turns that are still being stored.
    """
    role = role or ServerRole()
    chosen = load_mounts(engine, settings) if mounts is None else tuple(mounts)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = count_workers(settings)
        async with AsyncExitStack() as stack:
            logs = (app.state.audit, app.state.safety, app.state.feedback)
            for log in logs:
                stack.callback(log.close)
            stack.callback(app.state.keys.close)
            if role.links is not None:
                role.links.start()
                stack.callback(role.links.stop)
            if role.leads:
                stack.callback(create_task(sweep_logs(logs)).cancel)
            if role.leads and engine.vault is not None and settings.vault.watch != "off":
                engine.vault.watch()
                stack.push_async_callback(to_thread, engine.vault.unwatch)
            for mount in chosen:
                stack.push_async_callback(mount.stop)
                await mount.start()
            yield

    # The framework's own traces and logs would hold addresses and messages that quote memory; ours
    # do not (spans).
    quiet = TelemetryConfig(
        tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
    )
    app = FastAPI(
        title="engrams",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry=quiet,
    )
    _add_middleware(app, engine, settings)
    if role.links is not None:
        app.add_middleware(PeerMiddleware, links=role.links)
    app.add_exception_handler(EngramsError, telemetry.handle_error)
    routes = health_checks.router(engine, settings, chosen, needs_keys(settings))
    app.router.routes.extend(routes.routes)
    fallback = MethodNotAllowedRoutes(routes.routes)
    app.router.routes.extend(fallback.routes_for(fallback.paths))
    for mount in chosen:
        mount.install(app)
    app.router.routes.insert(0, FixedPathRoute(app.router.routes))
    return app


def needs_keys(settings: Settings) -> bool:
    """Return True where no request may come without a key."""
    return settings.serve.require_keys == "always" or not is_loopback(
        settings.serve.host.strip("[]").casefold()
    )


def _add_middleware(app: FastAPI, engine: MemoryEngine, settings: Settings) -> None:
    """Add middleware: telemetry outermost, then origins, then API keys."""
    serve = settings.serve
    log = admin.open_audit_log(settings, engine.now, engine.store)
    activity = OwnerActivityChart(engine.peers)
    metrics = RequestMetrics(engine)
    keys = admin.open_keys(settings, engine.store)
    app.state.audit = log
    app.state.activity = activity
    app.state.keys = keys
    app.state.safety = admin.open_safety_log(settings, engine.now, engine.store)
    app.state.feedback = admin.open_feedback_log(settings, engine.now, engine.store)
    observers: list[Observer | None] = [
        metrics.record,
        chart_observer(activity, engine.now),
        audit_observer(log, reads=settings.audit.reads),
        trace_observer(),
        log_observer(engine.now) if serve.log == "json" else None,
    ]
    rates = RequestRates(
        serve.rate_limit,
        engine.peers,
        RequestQuotaCounter(engine.store, engine.now),
        settings.quota,
    )
    app.add_middleware(
        ApiKeyMiddleware,
        keys=keys,
        needed=needs_keys(settings),
        rates=rates,
        clock=engine.now,
        audit=log,
    )
    app.add_middleware(
        OriginGuardMiddleware,
        own=serve.host,
        names=serve.allowed_hosts,
        origins=serve.allowed_origins,
    )
    app.add_middleware(
        TelemetryMiddleware,
        observers=[one for one in observers if one is not None],
        clock=engine.now,
    )
    app.router.routes.extend(metrics.router().routes)
