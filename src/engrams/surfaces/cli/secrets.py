"""Command secrets scan: secrets in what is stored already."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.errors import EngramsError
from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say
from engrams.surfaces.cli.write_commands import print_proof

app = new_app()
secrets = new_app()
app.add_typer(secrets, name="secrets", help="Find secrets in what is stored, and remove them.")


@secrets.command()
@flatten_options
def scan(
    options: GlobalOptions,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Remove them from the memories, their history and all files."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --redact: without a question.")] = False,
) -> None:
    """Show the secrets that memories and their earlier versions hold, masked.

    `write.secrets`, `write.pii` and `write.secrets_of` tell which kinds are looked for.
    """
    with options.open() as (engine, scope):
        stored_secrets = engine.find_secrets(scope=scope)
        if not options.json:
            for secret in stored_secrets:
                heading = f"{secret.id}  {paint(secret.kind, 'yellow')}  {secret.field}"
                say(f"{heading}  {clean(secret.masked)}")
            if not stored_secrets:
                note("No secret was found.")
        report = None
        if redact and stored_secrets:
            memories = len({secret.id for secret in stored_secrets})
            confirm_erase(f"the secrets of {memories} memories", "purge" if yes else "")
            report = engine.redact_secrets(scope=scope)
    if options.json:
        proof = {}
        if report is not None:
            proof = {
                "removed": report.removed,
                "remaining": report.remaining,
                "proven": report.proven,
                "places": report.places,
            }
        emit({"secrets": stored_secrets, **proof})
    elif report is not None:
        print_proof(report)
    if report is not None and not report.proven:
        raise EngramsError(
            "Some secrets remained in files.", hint="Each place above says how to remove them."
        )
