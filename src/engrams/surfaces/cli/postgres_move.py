"""Commands migrate and move: memory on Postgres."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, note, say, show_progress

app = new_app()
_BACKUP = (
    "CREATE ROLE backup LOGIN BYPASSRLS; GRANT pg_read_all_data TO backup; (docs/guides/fleet.md)"
)


@app.command()
@flatten_options
def migrate(
    options: GlobalOptions,
    url: Annotated[
        str,
        typer.Option(
            "--url",
            help="Address of a database user who may create tables and roles; default: store.url.",
            metavar="URL",
        ),
    ] = "",
) -> None:
    """Make the tables of a Postgres database, or update them.

    Processes that serve go on meanwhile.
    """
    from engrams import admin

    settings = options.load().settings.store
    address = url or settings.url
    steps = admin.migrate_store(address, settings)
    problem = admin.find_dump_problem(address)
    if options.json:
        emit({"steps": list(steps), "backup": problem})
        return
    say(f"Done: {', '.join(steps)}." if steps else "The tables are up to date.")
    if problem:
        note(f"{problem} Create a user for backups: {_BACKUP}")


@app.command()
@flatten_options
def move(
    options: GlobalOptions,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Target: postgresql://USER@HOST/NAME, or a path.",
            metavar="URL",
            show_default=False,
        ),
    ],
) -> None:
    """Copy all memory to Postgres, or from there to a file.

    Each owner arrives whole and is compared by hash; cut short, it goes on where it was. What is
    there now stays as it is.
    """
    from engrams import admin
    from engrams.core.clock import now

    settings = options.load().settings
    with show_progress("moving", quiet=options.json) as bar:
        counted = admin.move_memory(settings, to, now, bar)
    if options.json:
        emit(counted)
    else:
        say(
            f"{counted['records']} memories of {counted['owners']} owners were copied. Set"
            " `store.url` to use them."
        )
