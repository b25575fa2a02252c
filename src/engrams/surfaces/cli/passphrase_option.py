"""Option for the passphrase of a backup, which is not seen by others where it is asked."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from engrams.surfaces.cli.output import note

_ASKED = "-"
_SEEN = (
    "note: other users of this machine can see a passphrase on the command line, and the shell's"
    " history keeps it. Use --passphrase - or ENGRAMS_PASSPHRASE."
)


def _read_passphrase(context: typer.Context, parameter: Any, value: str) -> str:
    """Ask for a passphrase where the option says so; tell who gave it where others see it.

    It is asked twice before a backup is written with it. Of a pipe, a line is read.
    """
    source = context.get_parameter_source(parameter.name)
    if not value or source is None or source.name != "COMMANDLINE":
        return value
    if value != _ASKED:
        note(_SEEN)
        return value
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    is_new = context.info_name == "backup"
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True))


Passphrase = Annotated[
    str,
    typer.Option(
        help="Encrypt or decrypt the backup with this passphrase; `-` asks for it.",
        envvar="ENGRAMS_PASSPHRASE",
        show_default=False,
        metavar="TEXT",
        callback=_read_passphrase,
    ),
]
