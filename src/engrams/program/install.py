"""Command install: connect a coding agent to memory."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.confirm import confirm_change
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, report, say
from engrams.surfaces.cli.program_path import find_program

app = new_app()


@app.command()
@flatten_options
def install(
    program: Annotated[
        Literal["claude-code", "codex", "cursor", "gemini", "copilot", "opencode", "git"],
        typer.Argument(
            help="claude-code, codex, cursor, gemini, copilot, opencode or git.", show_default=False
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
    shared: Annotated[bool, typer.Option("--shared", help="One memory for all projects.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the hook out again.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Change the file without asking.")
    ] = False,
) -> None:
    """Connect a coding agent: add `engrams hook` to its settings.

    The change is shown first. --home, --user and --project go into the hook's command. Each project
    has a memory of its own beside what is about you; with --shared all share one.

    `git` is no agent: it adds a hook to the folder's repository that tells after a commit which
    memories the commit makes untrue.
    """
    from engrams.surfaces.hook.install import INSTALLERS, plan_install, plan_undo

    if program == "git":
        _install_git_hook(options, folder or Path.cwd(), undo=undo, yes=yes)
        return
    installer = INSTALLERS[program]
    edit = (
        plan_undo(installer, folder)
        if undo
        else plan_install(installer, _hook_command(options, folder, shared=shared), folder)
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


def _install_git_hook(options: GlobalOptions, folder: Path, *, undo: bool, yes: bool) -> None:
    """Add the hook to a repository, or take it out."""
    from engrams.surfaces.hook.git_hook import plan_git_hook

    command = [_name_program(None), "verify", "--commit", "HEAD", *_list_options(options, ".")]
    edit = plan_git_hook(folder, command, undo=undo)
    fields = {
        "agent": "git",
        "file": str(edit.path),
        "diff": edit.diff,
        "changed": edit.before != edit.after,
    }
    if edit.before == edit.after:
        report(options, fields, f"git: nothing to change in {edit.path}.")
        return
    if not options.json:
        say(clean(edit.diff).rstrip())
    confirm_change(edit.path, yes=yes)
    edit.apply()
    if edit.after is not None:
        edit.path.chmod(0o755)
    outcome = "tells no more" if undo else "tells"
    report(options, fields, f"git {outcome} after a commit which memories it makes untrue.")


def _hook_command(options: GlobalOptions, folder: Path | None, *, shared: bool) -> list[str]:
    """Write the command that the agent runs at each event.

    InputError: it is to keep a project apart, and to share the memory of all.
    """
    if shared and options.project:
        raise InputError(
            "--shared and --project exclude each other.",
            hint="Leave one of them out: without both each project has a memory of its own.",
        )
    project = None if shared else options.project or "."
    return [_name_program(folder), "hook", "--resident", *_list_options(options, project)]


def _list_options(options: GlobalOptions, project: str | None) -> list[str]:
    """List the options that name the memory, for a command that runs elsewhere."""
    home = options.home or os.environ.get("ENGRAMS_HOME")
    values = {
        "--home": str(Path(home).expanduser().absolute()) if home else None,
        "--user": options.user,
        "--project": project,
    }
    words = []
    for name, value in values.items():
        if value is not None:
            words += [name, value]
    return words


def _name_program(folder: Path | None) -> str:
    """Name the program: by its path, but in a project's file, which a team shares, by its name."""
    program = find_program()
    is_on_path = folder is not None and shutil.which(program.name) == str(program)
    return program.name if is_on_path else str(program)
