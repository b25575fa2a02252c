"""Command hook: its options and help; `entry` runs it without the slow command parser."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.options import HomeOptions, flatten_options, new_app

app = new_app()


@app.command()
@flatten_options
def hook(
    options: HomeOptions,
    tokens: Annotated[
        int | None,
        typer.Option(
            help="Token budget of the recalled text (default: read.context_tokens).",
            show_default=False,
            metavar="N",
        ),
    ] = None,
    resident: Annotated[
        bool,
        typer.Option(
            "--resident",
            help="Keep the home open in a process that ends after five minutes without an event.",
        ),
    ] = False,
    event: Annotated[
        str,
        typer.Option(
            help="Name of the event, for agents whose events carry none.",
            show_default=False,
            metavar="NAME",
        ),
    ] = "",
    seconds: Annotated[
        float,
        typer.Option(help="Time limit; then the agent continues without memory.", metavar="N"),
    ] = 5.0,
) -> None:
    """Answer a coding agent's hook.

    Its event comes on standard input, recalled memory goes to standard output. Always exits with 0.

    --project . keeps every folder's memory apart; without it all projects share what they know.
    """
    # `entry` runs `engrams hook` itself; this command is there for its help.
    from engrams.surfaces.hook.entry import main

    values = {
        "--home": options.home,
        "--preset": options.preset,
        "--user": options.user,
        "--project": options.project,
        "--tokens": tokens,
        "--event": event or None,
        "--seconds": seconds,
    }
    arguments = []
    for name, value in values.items():
        if value is not None:
            arguments += [name, str(value)]
    for override in options.overrides:
        arguments += ["--set", override]
    if resident:
        arguments.append("--resident")
    if options.test:
        arguments.append("--test")
    main(arguments)
