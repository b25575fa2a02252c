"""Registry of what the program is made of: mounts of the HTTP server, profiles of MCP tools.

The one module that names every surface. Imports stand inside its functions, so that a command loads
only what it uses. Surfaces never import it: whoever starts one hands over what that needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engrams.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server import MCPServer

    from engrams.core import Scope
    from engrams.engine import MemoryEngine
    from engrams.settings import Settings
    from engrams.surfaces.http.mounts import ServerMount
    from engrams.surfaces.http.server_functions import ServerFunctions
    from engrams.surfaces.mcp.profile import McpProfile

MCP_PROFILES = (
    "engrams",
    "full",
    "mem0",
    "actions",
    "graph",
    "search",
    "documents",
    "garden",
    "erase",
)
"""Names of the profiles that `load_mcp_profile` knows."""


def create_mounts(engine: MemoryEngine, settings: Settings) -> tuple[ServerMount, ...]:
    """Create all mounts, in the order of their routes: the proxy takes every path left."""
    from engrams.compat.agent_api.mount import create_agent_mount
    from engrams.compat.mem0.mount import create_mem0_mount
    from engrams.surfaces.http.rest.mount import RestMount
    from engrams.surfaces.mcp.mount import McpMount
    from engrams.surfaces.proxy.mount import ProxyMount
    from engrams.surfaces.ui.mount import WebPageMount

    return (
        create_mem0_mount(engine, settings),
        create_agent_mount(engine, settings),
        RestMount(engine, settings),
        McpMount(engine, settings, load_mcp_profile),
        WebPageMount(),
        ProxyMount(engine, settings),
    )


def list_server_surfaces() -> ServerFunctions:
    """Return what the HTTP server takes from other surfaces."""
    from engrams.program.served_commands import serve_commands
    from engrams.surfaces.http.server_functions import ServerFunctions

    return ServerFunctions(
        create_mounts=create_mounts,
        serve_commands=serve_commands,
        worker_module="engrams.program.worker_process",
    )


def create_app(engine: MemoryEngine, settings: Settings) -> FastAPI:
    """Create the ASGI application of the whole server; the engine stays the caller's to close."""
    from engrams.surfaces.http.app import create_app as create_http_app

    return create_http_app(engine, settings, create_mounts(engine, settings))


def load_mcp_profile(name: str) -> McpProfile:
    """Load the tools of one MCP profile, and no others. InputError: there is no such profile."""
    match name:
        case "engrams":
            from engrams.surfaces.mcp.memory_tools import PROFILE
        case "full":
            from engrams.surfaces.mcp.memory_tools import FULL_PROFILE as PROFILE
        case "mem0":
            from engrams.compat.mem0.mcp_tools import PROFILE
        case "actions":
            from engrams.surfaces.mcp.plain_verb_tools import PROFILE
        case "graph":
            from engrams.compat.graph_mcp.knowledge_graph_tools import PROFILE
        case "search":
            from engrams.surfaces.mcp.search_fetch_tools import PROFILE
        case "documents":
            from engrams.surfaces.mcp.document_tools import PROFILE
        case "garden":
            from engrams.surfaces.mcp.garden_tools import PROFILE
        case "erase":
            from engrams.surfaces.mcp.purge_tools import PROFILE
        case _:
            raise InputError(
                f"There is no profile {name!r}.",
                hint=f"The profiles are: {', '.join(MCP_PROFILES)}.",
            )
    return PROFILE


def create_mcp_server(
    engine: MemoryEngine, scope: Scope, profile: str = "engrams"
) -> MCPServer[Any]:
    """Create an MCP server of a profile. InputError: there is no such profile."""
    from engrams.surfaces.mcp.server import create_server

    return create_server(engine, scope, load_mcp_profile(profile))
