"""Command mcp."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.program.log_lines import write_log_lines
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.settings import Settings

app = new_app()


@app.command()
@flatten_options
def mcp(
    options: GlobalOptions,
    profile: Annotated[
        Literal[
            "engrams", "full", "actions", "mem0", "graph", "search", "documents", "garden", "erase"
        ],
        typer.Option(
            help=(
                "The tool names: engrams, full (with links, history and forgetting by topic),"
                " actions (one verb each), mem0, graph (the reference"
                " server's), search (and fetch), documents,"
                " garden (upkeep), erase (purge in two steps)."
            )
        ),
    ] = "engrams",
    http: Annotated[
        bool,
        typer.Option("--http", help="Serve streamable HTTP instead of standard input and output."),
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="With --http: the address to listen on; loopback only.", metavar="ADDRESS"
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="With --http: the port.", min=0, max=65535, metavar="N")
    ] = 8101,
) -> None:
    """Serve memory to agents over the Model Context Protocol.

    For one person: --user, --project and --conversation set the scope.
    """
    try:
        from engrams.surfaces.mcp import server
    except ImportError as problem:
        raise ExtraError(
            f"The MCP server's parts are not installed ({problem.name}).", hint=install_hint("mcp")
        ) from None
    from engrams.core import Scope
    from engrams.program.registry import load_mcp_profile

    settings = options.load().settings
    if (settings.home.expanduser() / "encryption.json").is_file():
        # A wrong key is reported at the start, not at the first call of a tool.
        from engrams.admin import load_key

        load_key(settings)
    scope = Scope(options.scope(settings))
    tools = load_mcp_profile(profile)
    with ExitStack() as stack:
        stack.enter_context(write_log_lines(settings.log))
        listener = stack.enter_context(server.listen(host, port)) if http else None
        engine = stack.enter_context(_open_memory(settings))
        tool_server = server.create_server(engine, scope, tools, options.find_checkout(settings))
        if listener is None:
            tool_server.run("stdio")
        else:
            server.serve_http(tool_server, listener)


@contextmanager
def _open_memory(settings: Settings) -> Iterator[MemoryEngine]:
    """Open memory at its first use, and answer commands and hooks of this user meanwhile."""
    from engrams.program.served_commands import serve_commands
    from engrams.surfaces.mcp.lazy_engine import LazyEngine

    with LazyEngine(settings) as engine, serve_commands(engine, settings):
        yield engine
