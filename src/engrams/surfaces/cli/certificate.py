"""Command certificate: check a certificate, without the home that gave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from engrams.core.purge_certificate import find_fault
from engrams.errors import InputError, RefusedError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, paint, say

app = new_app()


@app.command()
@flatten_options
def certificate(
    options: GlobalOptions,
    file: Annotated[
        Path,
        typer.Argument(help="File that `engrams purge --certificate` or `engrams proof -o` wrote."),
    ],
    key: Annotated[
        str,
        typer.Option(
            help="Public key that it must be signed by, in hexadecimal digits.",
            show_default=False,
            metavar="HEX",
        ),
    ] = "",
) -> None:
    """Check a certificate of a purge or a proof: digest, signature, and what it says.

    It needs no home. Ends with code 4 if something is wrong with it.
    """
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{file} is no certificate.") from None
    if fault := find_fault(content, key):
        raise RefusedError(f"The certificate is not valid: {fault}.")
    signed = content["signed"]
    if options.json:
        emit({"valid": True, "signature": bool(content["signature"]), "statement": signed})
        return
    signature = f"signed by {content['public_key']}" if content["signature"] else "not signed"
    say(f"{paint('valid', 'green')}  {signature}")
    if signed["certificate"] != "purge":
        then = signed.get("as_of", signed["at"])
        say(f"{len(signed['memories'])} memories of {signed['owner']} as they were at {then}")
        return
    say(
        f"{len(signed['memories'])} memories of {signed['owner']} were erased at {signed['at']};"
        f" {'proven' if signed['proven'] else 'not proven'}"
    )
    for place in signed["places"]:
        say(f"  {place['place']}: looked at {place['looked']}, left {place['left']}")
