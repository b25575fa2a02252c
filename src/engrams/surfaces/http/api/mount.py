"""Mount of the agent and control routes under /api."""

from __future__ import annotations

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.api import agent, control
from engrams.surfaces.http.mounts import RouterMount


def create_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the agent's and the control routes."""
    return RouterMount(engine, (control.router(settings), agent.router(settings)))
