"""Mount of the agent and control routes under /api."""

from __future__ import annotations

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.api import agentroutes, numberedmemories
from engrams.surfaces.http.loadmounts import RouterMount


def create_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the agent's and the control routes."""
    return RouterMount(engine, (numberedmemories.router(settings), agentroutes.router(settings)))
