"""Command install: connect a coding agent to memory."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from engrams.surfaces.cli.confirmation import confirm_change
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, say
from engrams.surfaces.cli.program_path import find_program

app = new_app()


@app.command()
@flatten_options
def install(
    program: Annotated[
        Literal["claude-code", "codex", "cursor", "gemini", "copilot", "opencode"],
        typer.Argument(
            help="claude-code, codex, cursor, gemini, copilot or opencode.", show_default=False
        ),
    ],
    options: GlobalOptions,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Only for the project in this folder.",
            show_default=False,
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the hook out again.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Change the file without asking.")
    ] = False,
) -> None:
    """Connect a coding agent: add `engrams hook` to its settings.

    The change is shown first. --home, --user and --project go into the hook's command; --project .
    keeps every folder's memory apart.
    """
    from engrams.surfaces.hook.install import INSTALLERS, plan_install, plan_undo

    installer = INSTALLERS[program]
    edit = (
        plan_undo(installer, folder)
        if undo
        else plan_install(installer, _hook_command(options), folder)
    )
    told = {
        "agent": program,
        "file": str(edit.path),
        "diff": edit.diff,
        "changed": edit.before != edit.after,
    }
    if edit.before == edit.after:
        if options.json:
            emit(told)
        else:
            say(f"{installer.title}: nothing to change in {edit.path}.")
        return
    if not options.json:
        say(clean(edit.diff).rstrip())
    confirm_change(edit.path, yes=yes)
    edit.apply()
    if options.json:
        emit(told)
        return
    other = shlex.join(
        [
            "engrams",
            "install",
            program,
            *([] if undo else ["--undo"]),
            *(["--folder", str(folder)] if folder else []),
        ]
    )
    say(
        f"{installer.title}"
        f" {'is disconnected from memory' if undo else 'has memory from its next session on'}. Undo"
        f" with: {other}"
    )


def _hook_command(options: GlobalOptions) -> list[str]:
    # The agent runs the hook in another folder and environment.
    home = options.home or os.environ.get("ENGRAMS_HOME")
    given = {
        "--home": str(Path(home).expanduser().absolute()) if home else None,
        "--user": options.user,
        "--project": options.project,
    }
    named = [word for name, value in given.items() if value is not None for word in (name, value)]
    return [str(find_program()), "hook", *named]
