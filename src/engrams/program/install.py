"""Command install: connect a coding agent to memory."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from engrams.surfaces.cli.confirm import confirm_change
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, report, say
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
    fields = {
        "agent": program,
        "file": str(edit.path),
        "diff": edit.diff,
        "changed": edit.before != edit.after,
    }
    if edit.before == edit.after:
        report(options, fields, f"{installer.title}: nothing to change in {edit.path}.")
        return
    if not options.json:
        say(clean(edit.diff).rstrip())
    confirm_change(edit.path, yes=yes)
    edit.apply()
    outcome = "is disconnected from memory" if undo else "has memory from its next session on"
    opposite = _opposite_command(program, folder, undo=undo)
    report(options, fields, f"{installer.title} {outcome}. Undo with: {opposite}")


def _opposite_command(program: str, folder: Path | None, *, undo: bool) -> str:
    """Write the command that takes this change back."""
    words = ["engrams", "install", program]
    if not undo:
        words.append("--undo")
    if folder:
        words += ["--folder", str(folder)]
    return shlex.join(words)


def _hook_command(options: GlobalOptions) -> list[str]:
    """Write the command that the agent runs at each event."""
    # The agent runs the hook in another folder and environment.
    home = options.home or os.environ.get("ENGRAMS_HOME")
    values = {
        "--home": str(Path(home).expanduser().absolute()) if home else None,
        "--user": options.user,
        "--project": options.project,
    }
    command = [str(find_program()), "hook"]
    for name, value in values.items():
        if value is not None:
            command += [name, value]
    return command
