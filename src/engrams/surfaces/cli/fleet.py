"""Command migrate: the tables of a Postgres database."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, say

app = new_app()


@app.command()
@flatten_options
def migrate(
    options: GlobalOptions,
    url: Annotated[
        str, typer.Option("--url", help="Address of a user who may make tables and roles; default: store.url.", metavar="URL")
    ] = "",
) -> None:
    """Make the tables of a Postgres database, or update them.

    Processes that serve go on meanwhile."""
    from engrams import build

    steps = build.migrate_store(url or options.load().settings.store.url)
    if options.json:
        emit({"steps": list(steps)})
    else:
        say(f"Done: {', '.join(steps)}." if steps else "The tables are up to date.")
