"""Command mcp."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Literal

import typer

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

app = new_app()


@app.command()
@flatten_options
def mcp(
    options: GlobalOptions,
    profile: Annotated[
        Literal["engrams", "actions", "mem0", "graph", "search", "garden", "erase"],
        typer.Option(
            help=(
                "The tool names: engrams, actions (one verb each), mem0, graph (the reference"
                " server's), search (and fetch),"
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
    # Surfaces load each other by name, so that none depends on another being installed.
    try:
        server = import_module("engrams.surfaces.mcp.server")
    except ImportError as problem:
        raise ExtraError(
            f"The MCP server's parts are not installed ({problem.name}).", hint=install_hint("mcp")
        ) from None
    from engrams.core import Scope

    settings = options.load().settings
    if (settings.home.expanduser() / "encryption.json").is_file():
        # A wrong key is said at the start, not at a tool's first call.
        from engrams.admin import load_key

        load_key(settings)
    scope = Scope(options.scope(settings))
    if http:
        server.serve(settings, scope, profile, host, port)
    else:
        server.run(settings, scope, profile)
