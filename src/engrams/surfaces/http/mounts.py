"""What a part of the server is, and where the parts are. They are found by name: surfaces do not know each other."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from fastapi import FastAPI

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.types import Json

PLACES = (
    "engrams.surfaces.http.mem0.mount",
    "engrams.surfaces.http.api.mount",
    "engrams.surfaces.http.rest.mount",
    "engrams.surfaces.ui.mount",
    "engrams.surfaces.proxy.mount",
)
"""Modules with ``part(engine, settings) -> Part``, in the order of their routes; the proxy is last, it takes every path left."""


class Part(Protocol):
    """Routes that share the server's socket, engine and life."""

    def install(self, app: FastAPI) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def health(self) -> Mapping[str, Json]:
        """What it adds to ``GET /health``."""
        ...


def load(engine: MemoryEngine, settings: Settings) -> tuple[Part, ...]:
    """All parts, made for this engine."""
    return tuple(import_module(place).part(engine, settings) for place in PLACES)
