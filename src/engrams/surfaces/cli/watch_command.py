"""Command watch: documents of a folder, kept as its files are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.filter_options import ScopeOptions
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say, show_progress

if TYPE_CHECKING:
    from engrams.transfer.documents.watched_folders import WatchedFolder

app = new_app()

_SHOWN = 10
"""Files that could not be read, in a report."""


@app.command()
@flatten_options
def watch(
    options: GlobalOptions,
    part: ScopeOptions,
    folder: Annotated[
        Path, typer.Argument(help="The folder, such as the docs of a checkout.", metavar="FOLDER")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only files of this pattern: *.md, docs/*. Repeatable.",
            show_default=False,
            metavar="PATTERN",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Bring it up to date, and end.")] = False,
    accept_empty: Annotated[
        bool,
        typer.Option("--accept-empty", help="Let all documents go if the folder has no files."),
    ] = False,
) -> None:
    """Keep the documents of a folder in memory as its files are, until Ctrl+C.

    A changed file takes the place of its earlier version, and a removed one goes. What .gitignore
    names stays out, and so do hidden files. Each run has one undo.
    """
    from engrams.sync.watch import iter_changes

    with part.choose_project(options).open() as (engine, scope):
        watched = engine.documents.watch(folder, scope, only or ())
        if once:
            _update(watched, options, accept_empty=accept_empty)
            return
        note(f"Watching {clean(str(folder))}. Ctrl+C ends it.")
        try:
            for _ in iter_changes(folder, lambda: False, lambda: False):
                try:
                    _update(watched, options, accept_empty=accept_empty)
                except InputError as problem:
                    note(f"error: {clean(problem.message)} {clean(problem.hint)}".rstrip())
        except KeyboardInterrupt:
            return


def _update(watched: WatchedFolder, options: GlobalOptions, *, accept_empty: bool) -> None:
    """Bring memory up to date with the folder, and say what changed."""
    with show_progress("reading", quiet=options.json) as bar:
        counts = watched.update(bar, accept_empty=accept_empty)
    if options.json:
        emit({**asdict(counts), "bad": [message for _, message in counts.bad]})
        return
    for _, message in counts.bad[:_SHOWN]:
        note(f"not read: {clean(message)}")
    if len(counts.bad) > _SHOWN:
        note(f"… and {len(counts.bad) - _SHOWN} more files that are not read (--json lists all)")
    if not counts.id:
        note("Nothing changed.")
        return
    say(
        f"{paint('updated', 'green')}  {counts.stored} passages of {counts.files} documents,"
        f" {counts.removed} ended with their files"
    )
    say(f"undo it with: engrams import --undo {counts.id}")
