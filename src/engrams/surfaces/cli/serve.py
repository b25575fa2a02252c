"""engrams serve."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.errors import ExtraError
from engrams.surfaces.cli.frame import Frame, commands, spread

app = commands()


@app.command()
@spread
def serve(
    frame: Frame,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen on; any other than loopback needs keys.", show_default=False, metavar="ADDRESS"),
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port.", min=0, max=65535, show_default=False, metavar="N")] = None,
) -> None:
    """Serve the HTTP API, the proxy and the web page until interrupted."""
    given = [f"serve.{name}={value}" for name, value in (("host", host), ("port", port)) if value is not None]
    try:
        from engrams.surfaces.http.app import serve as serve_http
    except ImportError as problem:
        raise ExtraError(f"The server's parts are not installed ({problem.name}).", hint="pip install 'engrams[server]'") from None
    from dataclasses import replace

    serve_http(replace(frame, overrides=[*frame.overrides, *given]).load().settings)
