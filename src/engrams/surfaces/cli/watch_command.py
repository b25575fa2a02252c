"""Command watch: documents of a folder, kept as its files are."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.filter_options import ScopeOptions
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say, show_progress

if TYPE_CHECKING:
    from engrams.transfer.documents.mail_folders import WatchedMailFolder
    from engrams.transfer.documents.watched_folders import WatchedFolder

app = new_app()

_PASSWORD = "ENGRAMS_MAIL_PASSWORD"  # noqa: S105 - the name of a variable
_SECONDS_BETWEEN_LOOKS = 300.0
_SHOWN = 10
"""Files that could not be read, in a report."""


@app.command()
@flatten_options
def watch(
    options: GlobalOptions,
    part: ScopeOptions,
    folder: Annotated[
        str,
        typer.Argument(
            help="The folder, such as the docs of a checkout; or imaps://ann@mail.example/INBOX.",
            metavar="FOLDER",
        ),
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
    names stays out, and so do hidden files. Each run has one undo. A folder of a mail server is
    looked at every five minutes, and stays as it is; ENGRAMS_MAIL_PASSWORD has the password.
    """
    from engrams.transfer.documents.mail_folders import is_mail_folder

    with part.choose_project(options).open() as (engine, scope):
        watched: WatchedFolder | WatchedMailFolder
        if is_mail_folder(folder):
            watched = engine.documents.watch_mail(folder, _ask_for_password(), scope)
            changes = _iter_moments()
        else:
            watched = engine.documents.watch(Path(folder), scope, only or ())
            changes = _iter_changes(Path(folder))
        if once:
            _update(watched, options, accept_empty=accept_empty)
            return
        note(f"Watching {clean(folder)}. Ctrl+C ends it.")
        try:
            for _ in changes:
                try:
                    _update(watched, options, accept_empty=accept_empty)
                except InputError as problem:
                    note(f"error: {clean(problem.message)} {clean(problem.hint)}".rstrip())
        except KeyboardInterrupt:
            return


def _ask_for_password() -> str:
    """Return the password of a mail server; of a pipe, read a line."""
    if password := os.environ.get(_PASSWORD):
        return password
    if sys.stdin.isatty():
        return str(typer.prompt("Password of the mail server", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _iter_changes(folder: Path) -> Iterator[object]:
    from engrams.sync.watch import iter_changes

    return iter(iter_changes([folder], lambda: False, lambda: False))


def _iter_moments() -> Iterator[object]:
    """Yield now, and whenever some minutes have passed."""
    while True:
        yield None
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _update(
    watched: WatchedFolder | WatchedMailFolder, options: GlobalOptions, *, accept_empty: bool
) -> None:
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
