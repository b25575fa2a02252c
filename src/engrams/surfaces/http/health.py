"""Liveness and readiness: store, disk, jobs and model servers."""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from engrams import __version__
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, StoreError
from engrams.settings import Settings
from engrams.surfaces.http.mounts import ServerMount
from engrams.surfaces.http.rest.caller import KEY
from engrams.surfaces.http.telemetry import to_problem
from engrams.types import Json

_STORE_SECONDS = 5.0
_MIN_FREE_BYTES = 64_000_000
"""Bytes of disk below which a write may fail any moment."""
_CONNECT_SECONDS = 1.0
_MAX_AGE_SECONDS = 15.0


def router(engine: MemoryEngine, settings: Settings, mounts: Sequence[ServerMount], keyed: bool = False) -> APIRouter:
    """Create ``GET /health`` and ``GET /ready``.

    ``keyed``: requests without a key see only ok or not."""
    routes = APIRouter(tags=["health"])
    models = ModelServers(settings)

    @routes.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        """Report health: degraded where one of `checks` is not ok."""
        found = await _read_status(engine)
        checks = await _run_checks(found, settings, models, request)
        report: dict[str, Any] = {"status": "ok" if all(each["ok"] for each in checks.values()) else "degraded", "version": __version__}
        if keyed and request.scope.get(KEY) is None:
            return {**report, "checks": {name: {"ok": each["ok"]} for name, each in checks.items()}}
        report |= {
            "checks": checks,
            "memory_store": store_location(settings),
            "jobs": {} if isinstance(found, EngramsError) else found.get("jobs", {}),
        }
        for mount in mounts:
            report.update(mount.health())
        return report

    @routes.get("/ready", responses={503: {"description": "Memory cannot be read, or not be written."}})
    async def ready() -> Response:
        """Answer 503 while memory cannot be read or the disk is full."""
        found = await _read_status(engine)
        if isinstance(found, EngramsError):
            return to_problem(found)
        disk = _check_disk(settings)
        if not disk["ok"]:
            return to_problem(StoreError(f"The disk is full: {disk['free_bytes']:,} bytes are left.", hint="Make room on it."))
        return JSONResponse({"ready": True})

    return routes


class ModelServers:
    """Reachability of the configured model servers, cached for 15 seconds."""

    def __init__(self, settings: Settings) -> None:
        named = {"chat": settings.chat.url, "embed": settings.embed.url, "rerank": settings.rerank.url, "upstream": settings.serve.upstream}
        self._urls = {name: url for name, url in named.items() if url}
        self._at = -_MAX_AGE_SECONDS
        self._found: dict[str, bool] = {}

    def check(self) -> Mapping[str, bool]:
        """Check each server by its role; blocking, a second each at most."""
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
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return url or str(settings.home.expanduser() / "memory.db")


async def _run_checks(
    found: Mapping[str, Any] | EngramsError, settings: Settings, models: ModelServers, request: Request
) -> dict[str, dict[str, Json]]:
    checks: dict[str, dict[str, Json]] = {}
    if isinstance(found, EngramsError):
        checks["store"] = {"ok": False, "problem": found.message, "hint": found.hint}
    else:
        dead = sum(states.get("dead", 0) for states in found["jobs"].values())
        checks["store"] = {"ok": True}
        checks["jobs"] = {"ok": dead == 0, "dead": dead, "lag_seconds": round(found["lag_seconds"], 1)}
    checks["disk"] = _check_disk(settings)
    reached = await asyncio.to_thread(models.check)
    checks["models"] = {"ok": all(reached.values()), **{name: "reachable" if up else "unreachable" for name, up in reached.items()}}
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


async def _read_status(engine: MemoryEngine) -> Mapping[str, Any] | EngramsError:
    task = asyncio.create_task(asyncio.to_thread(engine.status))
    await asyncio.wait({task}, timeout=_STORE_SECONDS)
    if not task.done():
        return StoreError(f"The store did not answer in {_STORE_SECONDS:.0f} seconds.", hint="Look whether another process holds it.")
    fault = task.exception()
    return fault if isinstance(fault, EngramsError) else task.result()
