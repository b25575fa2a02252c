"""Application of the server: middleware, error handlers, mounts, lifespan.

`create_app` is the one function that puts them together.
"""

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
from engrams.surfaces.http import health_checks
from engrams.surfaces.http.auth import ApiKeyMiddleware, AuthenticationDeps
from engrams.surfaces.http.method_not_allowed import MethodNotAllowedRoutes
from engrams.surfaces.http.mounts import ServerMount
from engrams.surfaces.http.observers.activity_chart import OwnerActivityChart, chart_observer
from engrams.surfaces.http.observers.audit_entries import audit_observer
from engrams.surfaces.http.observers.metrics import RequestMetrics
from engrams.surfaces.http.observers.request_log import log_observer
from engrams.surfaces.http.observers.spans import trace_observer
from engrams.surfaces.http.oidc.token_authorization import (
    TokenAuthorization,
    open_token_authorization,
)
from engrams.surfaces.http.origin_guard import OriginGuardMiddleware, is_loopback
from engrams.surfaces.http.permissions import SERVER_PERMISSIONS, PermissionTable
from engrams.surfaces.http.problems import handle_engrams_error
from engrams.surfaces.http.rates import RequestRates
from engrams.surfaces.http.retention import sweep_logs
from engrams.surfaces.http.server_role import PeerMiddleware, ServerRole
from engrams.surfaces.http.telemetry import Observer, TelemetryMiddleware
from engrams.surfaces.http.thread_counts import count_workers


def create_app(
    engine: MemoryEngine,
    settings: Settings,
    mounts: Sequence[ServerMount],
    role: ServerRole | None = None,
) -> FastAPI:
    """Create the ASGI application over an open engine.

    The engine stays the caller's to close. ``role``: among several processes on one port. Shutdown
    waits for turns that are still being stored.
    """
    role = role or ServerRole()
    # The framework's own traces and logs would hold addresses and messages that quote memory; ours
    # do not (spans).
    quiet = TelemetryConfig(
        tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
    )
    app = FastAPI(
        title="engrams",
        version=__version__,
        lifespan=lambda app: _run_server(app, engine, settings, mounts, role),
        docs_url=None,
        redoc_url=None,
        telemetry=quiet,
    )
    authorization = open_token_authorization(settings, engine.now)
    permissions = PermissionTable(
        [
            *SERVER_PERMISSIONS,
            *authorization.permissions,
            *(row for mount in mounts for row in mount.permissions),
        ]
    )
    app.state.restart = role.restart
    _open_logs(app, engine, settings)
    metrics = RequestMetrics(engine)
    _add_middleware(app, engine, settings, permissions, metrics, authorization)
    if role.links is not None:
        app.add_middleware(PeerMiddleware, links=role.links)
    app.add_exception_handler(EngramsError, handle_engrams_error)
    app.router.routes.extend(authorization.routes)
    _add_routes(app, engine, settings, mounts, metrics)
    return app


def needs_keys(settings: Settings) -> bool:
    """Return True where no request may come without a key."""
    host = settings.serve.host.strip("[]").casefold()
    is_wanted = settings.serve.require_keys == "always" or bool(settings.serve.oidc.issuer)
    return is_wanted or not is_loopback(host)


@asynccontextmanager
async def _run_server(
    app: FastAPI,
    engine: MemoryEngine,
    settings: Settings,
    mounts: Sequence[ServerMount],
    role: ServerRole,
) -> AsyncIterator[None]:
    """Run what belongs to the server beside its requests; end it in the opposite order."""
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
        if role.leads and engine.vault is not None:
            await to_thread(engine.vault.begin_history)
        if role.leads and engine.vault is not None and settings.vault.watch != "off":
            engine.vault.watch()
            stack.push_async_callback(to_thread, engine.vault.unwatch)
        for mount in mounts:
            stack.push_async_callback(mount.stop)
            await mount.start()
        yield


def _open_logs(app: FastAPI, engine: MemoryEngine, settings: Settings) -> None:
    """Open keys and logs, and keep them where routes and middleware find them."""
    app.state.audit = admin.open_audit_log(settings, engine.now, engine.store)
    app.state.activity = OwnerActivityChart(engine.peers)
    app.state.keys = admin.open_keys(settings, engine.store)
    app.state.safety = admin.open_safety_log(settings, engine.now, engine.store)
    app.state.feedback = admin.open_feedback_log(settings, engine.now, engine.store)


def _add_middleware(
    app: FastAPI,
    engine: MemoryEngine,
    settings: Settings,
    permissions: PermissionTable,
    metrics: RequestMetrics,
    authorization: TokenAuthorization,
) -> None:
    """Add middleware, the innermost first: API keys, origins, telemetry."""
    serve = settings.serve
    quotas = RequestQuotaCounter(engine.store, engine.now)
    app.add_middleware(
        ApiKeyMiddleware,
        AuthenticationDeps(
            keys=app.state.keys,
            permissions=permissions,
            is_key_needed=needs_keys(settings),
            rates=RequestRates(serve.rate_limit, engine.peers, quotas, settings.quota),
            clock=engine.now,
            audit=app.state.audit,
            tokens=authorization.tokens,
            metadata=authorization.metadata,
        ),
    )
    app.add_middleware(
        OriginGuardMiddleware,
        own_host=serve.host,
        allowed_hosts=serve.allowed_hosts,
        allowed_origins=serve.allowed_origins,
    )
    app.add_middleware(
        TelemetryMiddleware,
        observers=_list_observers(app, engine, settings, metrics),
        permissions=permissions,
        clock=engine.now,
    )


def _list_observers(
    app: FastAPI, engine: MemoryEngine, settings: Settings, metrics: RequestMetrics
) -> list[Observer]:
    observers = [
        metrics.record,
        chart_observer(app.state.activity, engine.now),
        audit_observer(app.state.audit, reads=settings.audit.reads),
    ]
    spans = trace_observer()
    if spans is not None:
        observers.append(spans)
    if settings.serve.log == "json":
        observers.append(log_observer(engine.now))
    return observers


def _add_routes(
    app: FastAPI,
    engine: MemoryEngine,
    settings: Settings,
    mounts: Sequence[ServerMount],
    metrics: RequestMetrics,
) -> None:
    """Add the server's own routes, then those of each mount: the first that matches answers."""
    app.router.routes.extend(metrics.router().routes)
    health = health_checks.router(engine, settings, mounts, needs_keys(settings))
    app.router.routes.extend(health.routes)
    fallback = MethodNotAllowedRoutes(health.routes)
    app.router.routes.extend(fallback.routes_for(fallback.paths))
    for mount in mounts:
        mount.install(app)
