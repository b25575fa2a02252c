"""Whether the server lives, and whether it can work: what is wrong with the store, the disk, the jobs and the models."""

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
from engrams.surfaces.http.mounts import Part
from engrams.surfaces.http.problems import problem
from engrams.surfaces.http.rest.caller import KEY
from engrams.types import Json

_SECONDS = 5.0
_ROOM = 64_000_000
"""Bytes of disk below which a write may fail any moment."""
_CONNECT = 1.0
_FRESH = 15.0


def router(engine: MemoryEngine, settings: Settings, parts: Sequence[Part], keyed: bool = False) -> APIRouter:
    """``GET /health`` and ``GET /ready``. ``keyed``: without a key they say only whether, not what."""
    routes = APIRouter(tags=["health"])
    models = Models(settings)

    @routes.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        """Answers as long as the process does. `status` is degraded where one of `checks` is not ok."""
        found = await _status(engine)
        checks = await _checks(found, settings, models, request)
        report: dict[str, Any] = {"status": "ok" if all(each["ok"] for each in checks.values()) else "degraded", "version": __version__}
        if keyed and request.scope.get(KEY) is None:
            return {**report, "checks": {name: {"ok": each["ok"]} for name, each in checks.items()}}
        report |= {
            "checks": checks,
            "memory_store": place(settings),
            "jobs": {} if isinstance(found, EngramsError) else found.get("jobs", {}),
        }
        for part in parts:
            report.update(part.health())
        return report

    @routes.get("/ready", responses={503: {"description": "Memory cannot be read, or not be written."}})
    async def ready() -> Response:
        """503 while memory cannot be read, or the disk has no room to write it."""
        found = await _status(engine)
        if isinstance(found, EngramsError):
            return problem(found)
        disk = _disk(settings)
        if not disk["ok"]:
            return problem(StoreError(f"The disk is full: {disk['free_bytes']:,} bytes are left.", hint="Make room on it."))
        return JSONResponse({"ready": True})

    return routes


class Models:
    """Whether the servers of the configured models accept connections; looked at most every 15 seconds."""

    def __init__(self, settings: Settings) -> None:
        named = {"chat": settings.chat.url, "embed": settings.embed.url, "rerank": settings.rerank.url, "upstream": settings.serve.upstream}
        self._urls = {name: url for name, url in named.items() if url}
        self._at = -_FRESH
        self._found: dict[str, bool] = {}

    def look(self) -> Mapping[str, bool]:
        """By what they are for; blocking, a second each at most."""
        now = time.monotonic()
        if now - self._at >= _FRESH:
            self._found = {name: _reachable(url) for name, url in self._urls.items()}
            self._at = now
        return self._found


def place(settings: Settings) -> str:
    """Where memory is kept, as it may be shown: a path, or a database address without its password."""
    if settings.incognito:
        return ":memory:"
    url = settings.store.url
    if "://" in url:
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return url or str(settings.home.expanduser() / "memory.db")


async def _checks(
    found: Mapping[str, Any] | EngramsError, settings: Settings, models: Models, request: Request
) -> dict[str, dict[str, Json]]:
    checks: dict[str, dict[str, Json]] = {}
    if isinstance(found, EngramsError):
        checks["store"] = {"ok": False, "problem": found.message, "hint": found.hint}
    else:
        dead = sum(states.get("dead", 0) for states in found["jobs"].values())
        checks["store"] = {"ok": True}
        checks["jobs"] = {"ok": dead == 0, "dead": dead, "lag_seconds": round(found["lag_seconds"], 1)}
    checks["disk"] = _disk(settings)
    reached = await asyncio.to_thread(models.look)
    checks["models"] = {"ok": all(reached.values()), **{name: "reachable" if up else "unreachable" for name, up in reached.items()}}
    for name in ("audit", "safety", "feedback"):
        lost = getattr(request.app.state, name).lost
        checks[name] = {"ok": lost == 0, "lost": lost}
    return checks


def _disk(settings: Settings) -> dict[str, Json]:
    """Room where memory is, or will be."""
    url = settings.store.url
    if settings.incognito or url == ":memory:" or "://" in url:
        return {"ok": True}
    spot = Path(url).absolute() if url else settings.home.expanduser().absolute()
    while not spot.exists() and spot != spot.parent:
        spot = spot.parent
    free = shutil.disk_usage(spot).free
    return {"ok": free >= _ROOM, "free_bytes": free}


def _reachable(url: str) -> bool:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), _CONNECT):
            return True
    except (OSError, ValueError):
        return False


async def _status(engine: MemoryEngine) -> Mapping[str, Any] | EngramsError:
    task = asyncio.create_task(asyncio.to_thread(engine.status))
    await asyncio.wait({task}, timeout=_SECONDS)
    if not task.done():
        return StoreError(f"The store did not answer in {_SECONDS:.0f} seconds.", hint="Look whether another process holds it.")
    fault = task.exception()
    return fault if isinstance(fault, EngramsError) else task.result()
