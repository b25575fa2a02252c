"""MCP server: tools by profile, resources, a prompt; stdio or HTTP.

`create_server` makes one over an engine and a scope; `serve_http` serves it alone. In the HTTP server
`McpMount` serves one for each owner.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import (
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
)
from mcp.server.mcpserver.tools.base import Tool as BoundTool
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolResult,
    InputRequiredResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    Tool,
    UnsubscribeRequestParams,
)
from pydantic import ValidationError
from starlette.applications import Starlette

from engrams import __version__
from engrams.core import Scope
from engrams.errors import EngramsError, SettingsError
from engrams.settings import suggest
from engrams.surfaces.mcp.profile import McpProfile, list_tools
from engrams.surfaces.mcp.resource_watcher import ResourceWatcher
from engrams.surfaces.mcp.resources import MemoryResources
from engrams.surfaces.mcp.scoped_engine import ScopedEngine
from engrams.surfaces.mcp.stdio_transport import open_stdio

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_BACKLOG = 128
_GUESSED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("q", "question", "search", "search_query", "about", "topic"), ("query", "about")
    ),
    **dict.fromkeys(("content", "memory", "fact", "note"), ("text", "data")),
    "text": ("content", "query", "data", "memory"),
    "query": ("text", "question", "about"),
    **dict.fromkeys(("top_k", "k", "n", "max_results", "count", "num_results"), ("limit",)),
    "limit": ("top_k",),
    **dict.fromkeys(("memory_id", "record_id", "uuid"), ("id",)),
    "id": ("memory_id",),
    **dict.fromkeys(("kind", "type", "types"), ("kinds", "kind")),
    "kinds": ("kind",),
    **dict.fromkeys(("max_tokens", "budget"), ("tokens",)),
    **dict.fromkeys(("session_id", "thread_id"), ("session",)),
    "tag": ("tags",),
    **dict.fromkeys(("from", "from_id", "source"), ("id",)),
    **dict.fromkeys(("to", "to_id", "target"), ("other",)),
}
"""Arguments that models guess -> ours, the first that the tool takes."""
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")
_OWNER_ARGUMENTS = ("user", "user_id", "owner", "scope", "agent", "agent_id", "name", "person")


class StrictMcpServer(MCPServer[Any]):
    """A server whose tools refuse unknown arguments, which the SDK would drop.

    Clients can subscribe to its resources. ``revision``: see ResourceWatcher.
    """

    def __init__(
        self,
        title: str,
        instructions: str,
        revision: Callable[[], int],
        tools: Sequence[BoundTool] = (),
    ) -> None:
        watcher = ResourceWatcher(revision, self._read_text)
        super().__init__(
            "engrams",
            title=title,
            instructions=instructions,
            version=__version__,
            log_level="WARNING",
            lifespan=watcher.run,
            tools=list(tools),
        )
        add = self._lowlevel_server.add_request_handler
        add("subscriptions/listen", SubscriptionsListenRequestParams, watcher.listen)
        add("resources/subscribe", SubscribeRequestParams, watcher.subscribe)
        add("resources/unsubscribe", UnsubscribeRequestParams, watcher.unsubscribe)

    async def _read_text(self, uri: str) -> str:
        """Read a resource for comparison; empty where there is none.

        EngramsError: memory is busy, full or closed.
        """
        try:
            return str(await self.read_resource(uri))
        except ResourceNotFoundError:
            return ""
        except UnexpectedResourceError as error:
            if isinstance(error.__cause__, EngramsError):
                raise error.__cause__ from None
            raise

    async def run_stdio_async(self) -> None:
        """Serve on standard input and output until the client closes them."""
        server = self._lowlevel_server
        async with open_stdio() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def list_tools(self) -> list[Tool]:
        """List the tools, with schemas that allow no other arguments."""
        return [
            tool.model_copy(
                update={
                    "input_schema": {
                        **_drop_titles(tool.input_schema),
                        "additionalProperties": False,
                    }
                }
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. ToolError: it fails, or takes no such argument."""
        parameters = {
            tool.name: list(tool.input_schema.get("properties", ()))
            for tool in await self.list_tools()
        }
        if name in parameters:
            arguments = _rename_guessed(arguments, parameters[name])
            unknown = [argument for argument in arguments if argument not in parameters[name]]
            if unknown:
                raise ToolError(_explain_unknown(name, unknown[0], parameters[name]))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if not isinstance(cause, ValidationError):
                raise
            faults = cause.errors(include_url=False, include_input=False)
            # Of a union each alternative has the same fault.
            lines = dict.fromkeys(
                f"{_name_argument(fault['loc'])}: {fault['msg']}" for fault in faults
            )
            raise ToolError(f"Error executing tool {name}: {'; '.join(lines)}") from cause


def create_server(
    engine: MemoryEngine, scope: Scope, profile: McpProfile, checkout: Path | None = None
) -> MCPServer[Any]:
    """Create a server whose every call stays in ``scope``.

    ``checkout``: folder of the project's code, where the server runs beside it.
    The engine stays the caller's to close.
    """
    scoped = ScopedEngine(engine, scope, checkout)
    server = StrictMcpServer(
        "engrams",
        profile.instructions,
        lambda: engine.inspect.find_last_change(scope),
        [tool for create_tools in profile.families for tool in list_tools(create_tools(scoped))],
    )
    MemoryResources(scoped).install(server)
    return server


def serve_http(server: MCPServer[Any], listener: socket.socket) -> None:
    """Serve streamable HTTP at ``/mcp`` until interrupted; print the address first."""
    import uvicorn

    sys.stdout.write(f"engrams speaks MCP at {mcp_url(listener)}. Press Ctrl-C to stop.\n")
    sys.stdout.flush()
    config = uvicorn.Config(create_app(server), log_config=None, access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listener])


def create_app(server: MCPServer[Any]) -> Starlette:
    """Create the ASGI application.

    Only names of this machine are served, so that no web page reaches it by a name of its own.
    """
    hosts = [f"{name}{port}" for name in _LOCAL_NAMES for port in ("", ":*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return server.streamable_http_app(
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    )


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket, on this machine only."""
    name = host.strip("[]")
    try:
        is_local = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise SettingsError(
            f"{host!r} is not an address of this machine alone: everyone who can reach it could"
            " read this memory.",
            hint=(
                "Listen on 127.0.0.1, and let a reverse proxy that asks for keys face the network."
            ),
        )
    try:
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        return socket.create_server((name, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}.",
            hint="Choose another --port.",
        ) from None


def mcp_url(listener: socket.socket) -> str:
    """Return the server's URL: ``http://127.0.0.1:8101/mcp``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def _rename_guessed(arguments: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    """Give arguments that models guess the name that is meant."""
    renamed = dict(arguments)
    for argument in arguments:
        if argument in parameters:
            continue
        snake_case = _CAPITAL.sub(r"_\1", argument).lower().replace("-", "_")
        for parameter in (snake_case, *_GUESSED.get(snake_case, ())):
            if parameter in parameters and parameter not in arguments:
                renamed[parameter] = renamed.pop(argument)
                break
    return renamed


def _drop_titles(schema: Any) -> Any:
    """Leave out titles, which repeat the names of arguments and cost every prompt tokens."""
    match schema:
        case dict():
            return {
                key: _drop_titles(part)
                for key, part in schema.items()
                if key != "title" or not isinstance(part, str)
            }
        case list():
            return [_drop_titles(part) for part in schema]
        case _:
            return schema


def _name_argument(location: Sequence[Any]) -> str:
    """Name the argument that a validation error is about."""
    return str(location[0]) if location else "arguments"


def _explain_unknown(tool: str, argument: str, parameters: Sequence[str]) -> str:
    """Write the error for an argument that a tool does not take."""
    if argument.casefold() in _OWNER_ARGUMENTS and "user_id" not in parameters:
        advice = "Whose memory this is was set when the server started; no call changes it."
    else:
        advice = suggest(argument, parameters)
    takes = f"It takes: {', '.join(parameters)}." if parameters else "It takes none."
    sentences = (f"{tool} has no argument {argument!r:.80}.", advice, takes)
    return " ".join(sentence for sentence in sentences if sentence)
