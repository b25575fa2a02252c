"""Mount of the agent and control routes under /api."""

from __future__ import annotations

from engrams.compat.agent_api import agent_routes, numbered_memories
from engrams.compat.agent_api.permissions import AGENT_PERMISSIONS
from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.mounts import RouterMount


def create_agent_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the agent's and the control routes."""
    routers = (numbered_memories.router(settings), agent_routes.router(settings))
    return RouterMount(engine, routers, AGENT_PERMISSIONS)
