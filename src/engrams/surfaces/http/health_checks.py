"""Liveness and readiness: store, disk, jobs and model servers.

`router` makes ``GET /health`` and ``GET /ready``. Neither waits for a store that hangs: both tell the
latest of readings that are made in a thread.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from engrams import __version__
from engrams.core import Json
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, StoreError
from engrams.settings import Settings
from engrams.surfaces.http.caller import KEY
from engrams.surfaces.http.mounts import ServerMount
from engrams.surfaces.http.problems import to_problem

_FRESH_SECONDS = 0.03
"""Wait for a reading; beyond it the last one is told, so that a busy server answers too."""
_CURRENT_SECONDS = 0.25
"""Age up to which a reading is told without a new one."""
_MAX_READING_AGE = 60.0
"""Age beyond which a reading is told no more."""
_STUCK_SECONDS = 5.0
"""Length of a reading beyond which what it reads counts as stuck."""
_MIN_FREE_BYTES = 64_000_000
"""Bytes of disk below which a write may fail any moment."""
_CONNECT_SECONDS = 1.0
_MAX_AGE_SECONDS = 15.0
"""Age up to which the reachability of model servers is not looked at again."""

T = TypeVar("T")


def router(
    engine: MemoryEngine,
    settings: Settings,
    mounts: Sequence[ServerMount],
    is_key_needed: bool = False,
) -> APIRouter:
    """Create ``GET /health`` and ``GET /ready``.

    ``is_key_needed``: requests without a key see only ok or not.
    """
    routes = APIRouter(tags=["health"])
    timeout = StoreError(
        f"The store did not answer in {_STUCK_SECONDS:.0f} seconds.",
        hint="Check whether another process locks it.",
    )
    stuck_snapshot = StoreHealthSnapshot(timeout, {}, 0.0, {"ok": True})
    store_readings = LatestBackgroundReading(lambda: read_state(engine, settings))
    model_readings = LatestBackgroundReading(ModelServerHealthChecker(settings).check)

    @routes.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        """Report health: degraded where one of `checks` is not ok."""
        snapshot, reachable = await asyncio.gather(store_readings.get(), model_readings.get())
        snapshot = snapshot or stuck_snapshot
        checks = _run_checks(snapshot, reachable, request)
        is_ok = all(check["ok"] for check in checks.values())
        report: dict[str, Any] = {
            "status": "ok" if is_ok else "degraded",
            "version": __version__,
        }
        if is_key_needed and request.scope.get(KEY) is None:
            report["checks"] = {name: {"ok": check["ok"]} for name, check in checks.items()}
            return report
        report |= {
            "pid": os.getpid(),
            "workers": settings.serve.workers,
            "checks": checks,
            "memory_store": store_location(settings),
            "jobs": snapshot.jobs,
        }
        for mount in mounts:
            report.update(mount.health())
        return report

    @routes.get(
        "/ready", responses={503: {"description": "Memory cannot be read, or not be written."}}
    )
    async def ready() -> Response:
        """Answer 503 while memory cannot be read or the disk is full."""
        snapshot = await store_readings.get() or stuck_snapshot
        if snapshot.error is not None:
            return to_problem(snapshot.error)
        if not snapshot.disk["ok"]:
            free_bytes = snapshot.disk["free_bytes"]
            disk_error = StoreError(
                f"The disk is full: {free_bytes:,} bytes are left.", hint="Free some space."
            )
            return to_problem(disk_error)
        return JSONResponse({"ready": True})

    return routes


@dataclass(frozen=True, slots=True)
class StoreHealthSnapshot:
    """State of store, jobs and disk at one moment."""

    error: EngramsError | None
    """The reason why the store cannot be read; None: it can."""

    jobs: Mapping[str, Mapping[str, int]]
    """Numbers of jobs by kind and state."""

    lag_seconds: float
    """Seconds by which the oldest due job is late."""

    disk: dict[str, Json]
    """``ok``, and the free bytes where the store is a file."""


class LatestBackgroundReading(Generic[T]):
    """Run a slow check in a thread; return its newest result.

    It runs in a thread of its own, and requests share one run of it: neither work that takes long
    nor a store that hangs delays an answer.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, "engrams-health")
        self._running: asyncio.Future[T] | None = None
        self._started_at = 0.0
        self._ended_at = 0.0
        self._latest: T | None = None

    async def get(self) -> T | None:
        """Return a fresh reading, or the last one while that takes longer.

        None: it is stuck.
        """
        if self._running is None:
            if self._is_younger_than(_CURRENT_SECONDS):
                return self._latest
            self._started_at = time.monotonic()
            self._running = asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._running.add_done_callback(self._store)
        running = self._running
        seconds_left = max(0.0, self._started_at + _STUCK_SECONDS - time.monotonic())
        has_latest = self._is_younger_than(_MAX_READING_AGE)
        patience = min(seconds_left, _FRESH_SECONDS) if has_latest else seconds_left
        await asyncio.wait({running}, timeout=patience)
        if running.done():
            return running.result()
        return self._latest if has_latest and seconds_left else None

    def _is_younger_than(self, seconds: float) -> bool:
        return self._latest is not None and time.monotonic() - self._ended_at < seconds

    def _store(self, finished: asyncio.Future[T]) -> None:
        self._running = None
        self._ended_at = time.monotonic()
        if not finished.cancelled() and finished.exception() is None:
            self._latest = finished.result()


class ModelServerHealthChecker:
    """Reachability of the configured model servers, cached for 15 seconds."""

    def __init__(self, settings: Settings) -> None:
        urls = {
            "chat": settings.chat.url,
            "embed": settings.embed.url,
            "rerank": settings.rerank.url,
            "upstream": settings.serve.upstream,
        }
        self._urls = {name: url for name, url in urls.items() if url}
        self._checked_at = -_MAX_AGE_SECONDS
        self._reachable: dict[str, bool] = {}

    def check(self) -> Mapping[str, bool]:
        """Check each server by its role; blocking, a second each."""
        now = time.monotonic()
        if now - self._checked_at >= _MAX_AGE_SECONDS:
            self._reachable = {role: _is_reachable(url) for role, url in self._urls.items()}
            self._checked_at = now
        return self._reachable


def store_location(settings: Settings) -> str:
    """Describe the store: a path, or a database address without its password."""
    if settings.incognito:
        return ":memory:"
    url = settings.store.url
    if "://" in url:
        scheme, _, address = url.partition("://")
        return f"{scheme}://{address.partition('?')[0].rpartition('@')[2]}"
    return url or str(settings.home.expanduser() / "memory.db")


def read_state(engine: MemoryEngine, settings: Settings) -> StoreHealthSnapshot:
    """Read the state of store, jobs and disk; blocking."""
    disk = _check_disk(settings)
    try:
        engine.inspect.require_ready()
        work = engine.status()
    except EngramsError as error:
        return StoreHealthSnapshot(error, {}, 0.0, disk)
    return StoreHealthSnapshot(None, work["jobs"], work["lag_seconds"], disk)


def _run_checks(
    snapshot: StoreHealthSnapshot, reachable: Mapping[str, bool] | None, request: Request
) -> dict[str, dict[str, Json]]:
    checks: dict[str, dict[str, Json]] = {}
    error = snapshot.error
    if error is not None:
        checks["store"] = {"ok": False, "problem": error.message, "hint": error.hint}
    else:
        dead = sum(states.get("dead", 0) for states in snapshot.jobs.values())
        lag_seconds = round(snapshot.lag_seconds, 1)
        checks["store"] = {"ok": True}
        checks["jobs"] = {"ok": dead == 0, "dead": dead, "lag_seconds": lag_seconds}
    checks["disk"] = snapshot.disk
    servers = {
        role: "reachable" if is_up else "unreachable" for role, is_up in (reachable or {}).items()
    }
    checks["models"] = {"ok": reachable is not None and all(reachable.values()), **servers}
    for name in ("audit", "safety", "feedback"):
        lost_events = getattr(request.app.state, name).lost
        checks[name] = {"ok": lost_events == 0, "lost": lost_events}
    return checks


def _check_disk(settings: Settings) -> dict[str, Json]:
    """Check the free space where the store is or will be."""
    url = settings.store.url
    if settings.incognito or url == ":memory:" or "://" in url:
        return {"ok": True}
    path = Path(url).absolute() if url else settings.home.expanduser().absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    free_bytes = shutil.disk_usage(path).free
    return {"ok": free_bytes >= _MIN_FREE_BYTES, "free_bytes": free_bytes}


def _is_reachable(url: str) -> bool:
    address = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
        with socket.create_connection((address.hostname or "", port), _CONNECT_SECONDS):
            return True
    except (OSError, ValueError):
        return False
