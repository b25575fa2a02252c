"""Command proof: certificates of one memory's lineage, and of what was believed at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.filter_options import AsOfTimeOptions
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, note, say

app = new_app()


@app.command()
@flatten_options
def proof(
    options: GlobalOptions,
    times: AsOfTimeOptions,
    id: Annotated[
        str, typer.Argument(help="The memory whose lineage is proven.", show_default=False)
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the certificate to this file; `engrams certificate FILE` checks it.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Prove what a memory is made of, or with --as-of which memories were active then.

    The certificate holds ids and hashes and no text, and is signed where the package cryptography is
    installed.
    """
    moment = times.moment()
    if bool(id) == (moment is not None):
        raise InputError("Give the id of a memory, or a time.", hint="`engrams proof ID`")
    with options.open(reads=True) as (engine, scope):
        if moment is None:
            certificate = engine.inspect.prove(id, scope=scope)
        else:
            certificate = engine.inspect.prove_moment(moment, scope=scope)
    if output is not None:
        output.write_text(json.dumps(certificate, indent=1) + "\n", "utf-8")
    if options.json:
        emit(certificate)
        return
    signed = certificate["signed"]
    for source in signed.get("lineage", ()):
        say(
            f"{source['id']}  {source['kind']} by {source['channel']}, trust {source['trust']:.2f}"
            f"  {source['hash']}"
        )
    note(f"{len(signed['memories'])} memories, digest {certificate['digest']}")
