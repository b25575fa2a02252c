"""Questions before a command erases memories or changes a file of another program."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from engrams.errors import RefusedError
from engrams.surfaces.cli.output import note


def confirm_erase(subject: str, word: str) -> None:
    """Ask for the word purge before ``subject`` is erased.

    RefusedError: the word was not given.
    """
    if not word:
        print(
            f"This erases {subject} for good. Type purge to continue: ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        word = sys.stdin.readline().strip()
    if word != "purge":
        raise RefusedError(
            "Nothing was purged.", hint="Type the word purge, or give --confirm purge."
        )


def confirm_change(path: Path, *, yes: bool) -> None:
    """Ask before a file is changed. RefusedError: nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError(
            f"{path} was not changed.", hint="Give --yes to change it without a question."
        )
    if not typer.confirm(f"Change {path}?", default=True):
        note("Nothing was changed.")
        raise typer.Abort
