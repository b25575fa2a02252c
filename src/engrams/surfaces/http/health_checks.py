"""Liveness and readiness: store, disk, jobs and model servers."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from engrams import __version__
from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, StoreError
from engrams.frozen_data import dataclass
from engrams.settings import Settings
from engrams.surfaces.http.load_mounts import ServerMount
from engrams.surfaces.http.rest.caller import KEY
from engrams.surfaces.http.telemetry import to_problem

_FRESH_SECONDS = 0.03
"""Wait for a reading; beyond it the last one is told, so that a busy server answers too."""
_CURRENT_SECONDS = 0.25
"""Age up to which a reading is told without a new one."""
_KEPT_SECONDS = 60.0
"""Age beyond which a reading is told no more."""
_STUCK_SECONDS = 5.0
"""Length of a reading beyond which what it reads counts as stuck."""
_MIN_FREE_BYTES = 64_000_000
"""Bytes of disk below which a write may fail any moment."""
_CONNECT_SECONDS = 1.0
_MAX_AGE_SECONDS = 15.0

T = TypeVar("T")


def router(
    engine: MemoryEngine, settings: Settings, mounts: Sequence[ServerMount], keyed: bool = False
) -> APIRouter:
    """Create ``GET /health`` and ``GET /ready``.

    ``keyed``: requests without a key see only ok or not.
    """
    routes = APIRouter(tags=["health"])
    late = StoreError(
        f"The store did not answer in {_STUCK_SECONDS:.0f} seconds.",
        hint="Look whether another process holds it.",
    )
    stuck = StoreHealthSnapshot(late, {}, 0.0, {"ok": True})
    reading = LatestBackgroundReading(lambda: read_state(engine, settings))
    models = LatestBackgroundReading(ModelServerHealthChecker(settings).check)

    @routes.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        """Report health: degraded where one of `checks` is not ok."""
        found, reached = await asyncio.gather(reading.get(), models.get())
        found = found or stuck
        checks = _run_checks(found, reached, request)
        report: dict[str, Any] = {
            "status": "ok" if all(each["ok"] for each in checks.values()) else "degraded",
            "version": __version__,
        }
        if keyed and request.scope.get(KEY) is None:
            return {**report, "checks": {name: {"ok": each["ok"]} for name, each in checks.items()}}
        report |= {"pid": os.getpid(), "workers": settings.serve.workers}
        report |= {"checks": checks, "memory_store": store_location(settings), "jobs": found.jobs}
        for mount in mounts:
            report.update(mount.health())
        return report

    @routes.get(
        "/ready", responses={503: {"description": "Memory cannot be read, or not be written."}}
    )
    async def ready() -> Response:
        """Answer 503 while memory cannot be read or the disk is full."""
        found = await reading.get() or stuck
        if found.fault is not None:
            return to_problem(found.fault)
        if not found.disk["ok"]:
            return to_problem(
                StoreError(
                    f"The disk is full: {found.disk['free_bytes']:,} bytes are left.",
                    hint="Make room on it.",
                )
            )
        return JSONResponse({"ready": True})

    return routes


@dataclass(frozen=True, slots=True)
class StoreHealthSnapshot:
    """State of store, jobs and disk at one moment.

    ``fault``: why the store cannot be read. ``jobs``: numbers by kind and state. ``lag_seconds``:
    how late the oldest due job is.
    """

    fault: EngramsError | None
    jobs: Mapping[str, Mapping[str, int]]
    lag_seconds: float
    disk: dict[str, Json]


class LatestBackgroundReading(Generic[T]):
    """Run a slow check in a thread; return its newest result.

    It runs in a thread of its own, and requests share one run of it: neither work that takes long
    nor a store that hangs delays an answer.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, "engrams-health")
        self._running: asyncio.Future[T] | None = None
        self._begun = self._ended = 0.0
        self._last: T | None = None

    async def get(self) -> T | None:
        """Return a fresh reading, or the last one while that takes longer.

        None: it is stuck.
        """
        if self._running is None:
            if self._last is not None and time.monotonic() - self._ended < _CURRENT_SECONDS:
                return self._last
            self._begun = time.monotonic()
            self._running = asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._running.add_done_callback(self._keep)
        running = self._running
        left = max(0.0, self._begun + _STUCK_SECONDS - time.monotonic())
        known = self._last is not None and time.monotonic() - self._ended < _KEPT_SECONDS
        await asyncio.wait({running}, timeout=min(left, _FRESH_SECONDS) if known else left)
        if running.done():
            return running.result()
        if known and left:
            return self._last
        return None

    def _keep(self, done: asyncio.Future[T]) -> None:
        self._running = None
        self._ended = time.monotonic()
        if not done.cancelled() and done.exception() is None:
            self._last = done.result()


class ModelServerHealthChecker:
    """Reachability of the configured model servers, cached for 15 seconds."""

    def __init__(self, settings: Settings) -> None:
        named = {
            "chat": settings.chat.url,
            "embed": settings.embed.url,
            "rerank": settings.rerank.url,
            "upstream": settings.serve.upstream,
        }
        self._urls = {name: url for name, url in named.items() if url}
        self._at = -_MAX_AGE_SECONDS
        self._found: dict[str, bool] = {}

    def check(self) -> Mapping[str, bool]:
        """Check each server by its role; blocking, a second each."""
        now = time.monotonic()
        if now - self._at >= _MAX_AGE_SECONDS:
            self._found = {name: _is_reachable(url) for name, url in self._urls.items()}
            self._at = now
        return self._found


def store_location(settings: Settings) -> str:
    """Describe the store: a path, or a database address without its password."""
    if settings.incognito:
        return ":memory:"
    url = settings.store.url
    if "://" in url:
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
    return url or str(settings.home.expanduser() / "memory.db")


def read_state(engine: MemoryEngine, settings: Settings) -> StoreHealthSnapshot:
    """Read the state of store, jobs and disk; blocking."""
    disk = _check_disk(settings)
    try:
        engine.inspect.require_ready()
        found = engine.status()
    except EngramsError as fault:
        return StoreHealthSnapshot(fault, {}, 0.0, disk)
    return StoreHealthSnapshot(None, found["jobs"], found["lag_seconds"], disk)


def _run_checks(
    found: StoreHealthSnapshot, reached: Mapping[str, bool] | None, request: Request
) -> dict[str, dict[str, Json]]:
    checks: dict[str, dict[str, Json]] = {}
    if found.fault is not None:
        checks["store"] = {"ok": False, "problem": found.fault.message, "hint": found.fault.hint}
    else:
        dead = sum(states.get("dead", 0) for states in found.jobs.values())
        checks["store"] = {"ok": True}
        checks["jobs"] = {"ok": dead == 0, "dead": dead, "lag_seconds": round(found.lag_seconds, 1)}
    checks["disk"] = found.disk
    names = {name: "reachable" if up else "unreachable" for name, up in (reached or {}).items()}
    checks["models"] = {"ok": reached is not None and all(reached.values()), **names}
    for name in ("audit", "safety", "feedback"):
        lost = getattr(request.app.state, name).lost
        checks[name] = {"ok": lost == 0, "lost": lost}
    return checks


def _check_disk(settings: Settings) -> dict[str, Json]:
    """Check the free space where the store is or will be."""
    url = settings.store.url
    if settings.incognito or url == ":memory:" or "://" in url:
        return {"ok": True}
    spot = Path(url).absolute() if url else settings.home.expanduser().absolute()
    while not spot.exists() and spot != spot.parent:
        spot = spot.parent
    free = shutil.disk_usage(spot).free
    return {"ok": free >= _MIN_FREE_BYTES, "free_bytes": free}


def _is_reachable(url: str) -> bool:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), _CONNECT_SECONDS):
            return True
    except (OSError, ValueError):
        return False
