"""Options and questions of the commands that name a place of synchronised memories."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError

if TYPE_CHECKING:
    from engrams.sync.places import PlaceAccess

Login = Annotated[
    str,
    typer.Option(
        "--login",
        help="Your name at the place; of S3 the id of the key. It asks for the password, or takes"
        " ENGRAMS_SYNC_PASSWORD.",
        metavar="NAME",
    ),
]
_PASSWORD = "ENGRAMS_SYNC_PASSWORD"  # noqa: S105 - the name of a variable


def read_access(address: str, login: str) -> PlaceAccess:
    """Read what a place asks for; a password is no argument, which other users could see."""
    from engrams.sync.place_addresses import needs_password
    from engrams.sync.places import PlaceAccess

    password = os.environ.get(_PASSWORD, "")
    if not password and (login or needs_password(address)):
        if not sys.stdin.isatty():
            raise InputError("This place needs a password.", hint=f"Set {_PASSWORD}.")
        password = str(typer.prompt("Password of the place", hide_input=True))
    return PlaceAccess(login, password)


def ask_for_code() -> str:
    """Ask for a code without showing it; of a pipe, read a line."""
    if sys.stdin.isatty():
        return str(typer.prompt("Code", hide_input=True))
    return sys.stdin.readline().strip()
