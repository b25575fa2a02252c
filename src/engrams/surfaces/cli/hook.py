"""engrams hook."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

app = new_app()


@app.command()
@flatten_options
def hook(
    frame: GlobalOptions,
    tokens: Annotated[
        int | None,
        typer.Option(help="The most that recalled text may cost (default: read.context_tokens).", show_default=False, metavar="N"),
    ] = None,
    seconds: Annotated[float, typer.Option(help="After this long the agent goes on without memory.", metavar="N")] = 5.0,
) -> None:
    """Answer a coding agent's hook: its event on standard input, what is remembered on standard output. Always exits with 0.

    --project . keeps every folder's memory apart; without it all projects share what they know.
    """
    # Surfaces find each other by name. `engrams hook` itself is taken on a shorter way, see start.py; this is what shows its help.
    found = import_module("engrams.surfaces.hook.run")
    given = {"home": frame.home, "preset": frame.preset, "user": frame.user, "test": frame.test or None}
    pairs = dict(text.split("=", 1) for text in frame.overrides if "=" in text)
    settings = {**pairs, **{name: value for name, value in given.items() if value is not None}}
    found.run_hook(found.HookCall(settings, frame.project or "", tokens, seconds))
