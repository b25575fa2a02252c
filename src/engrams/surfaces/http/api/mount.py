"""Mount of the agent and control routes under /api."""

from __future__ import annotations

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.api import agent_routes, numbered_memories
from engrams.surfaces.http.load_mounts import RouterMount


def create_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the agent's and the control routes."""
    return RouterMount(engine, (numbered_memories.router(settings), agent_routes.router(settings)))
