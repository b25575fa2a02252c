"""Command line of engrams: runs one command, prints its errors, returns its exit code.

A command's module is loaded when it is called, so that `engrams --help` answers at once.

Exit codes: 0 done, 1 error, 2 usage, 3 not found, 4 refused, 5 store, 6 model or its budget, 130
interrupted.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from engrams.errors import EngramsError
from engrams.program.command_help import ABOUT, MORE
from engrams.program.command_table import COMMANDS, arrange
from engrams.surfaces.cli.failures import describe_failure, exit_code, print_error

_SYNONYMS: dict[str, str] = {
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("get", "view", "cat", "read"), "show"),
    **dict.fromkeys(("find", "query", "ask"), "search"),
    **dict.fromkeys(("update", "change", "correct"), "edit"),
    **dict.fromkeys(("ls", "all", "memories"), "list"),
    **dict.fromkeys(("remember", "save", "store", "new"), "add"),
    **dict.fromkeys(("start", "run", "server", "up", "web", "ui"), "serve"),
    **dict.fromkeys(("check", "repair"), "doctor"),
    **dict.fromkeys(("settings", "set"), "config"),
    **dict.fromkeys(("erase", "wipe", "reset"), "purge"),
    **dict.fromkeys(("info", "count"), "stats"),
    **dict.fromkeys(("setup", "configure"), "init"),
    "undo": "restore",
    "load": "import",
    "dump": "export",
    "jobs": "status",
}
"""Names from elsewhere -> the command of ours."""

_FOREIGN_OPTIONS: dict[str, str] = {
    "--memory-path": (
        "--home DIR is the folder of all memory, --set vault.path=DIR that of its Markdown files."
    ),
    "--max-entries": "--set caps.entries=N",
    "--start-watcher": "--set vault.watch=serve",
}
"""Options from elsewhere -> ours."""


class LazyCommandGroup(TyperGroup):
    """Load each command from its module when it is called."""

    def list_commands(self, _context: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return _load_subcommand(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        for word in args:
            option = word.partition("=")[0]
            if option in _FOREIGN_OPTIONS:
                ctx.fail(f"No such option: {option}. Here it is: {_FOREIGN_OPTIONS[option]}")
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}. {_suggest_command(name)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def _suggest_command(name: str) -> str:
    """Return the command that was probably meant, as a sentence."""
    from difflib import get_close_matches

    near = [_SYNONYMS[name]] if name in _SYNONYMS else get_close_matches(name, COMMANDS, 1)
    if not near:
        return "`engrams --help` lists them."
    suggestion = f"Did you mean {near[0]!r}?"
    if near == ["show"]:
        suggestion += (
            " `engrams show ID` prints a memory by its id, and `engrams list` shows the ids."
        )
    return suggestion


app = typer.Typer(
    cls=LazyCommandGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_given: bool) -> None:
    if is_given:
        from engrams import __version__

        typer.echo(__version__)
        raise typer.Exit


_VERSION = typer.Option(
    False, "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
)


@app.callback(help=ABOUT, epilog=MORE)
def engrams(version: bool = _VERSION) -> None:
    """Take the options that stand before any command."""


@cache
def load_command() -> Any:
    """Build the command of all commands."""
    return typer.main.get_command(app)


@cache
def _load_subcommand(name: str) -> Any:
    module = import_module(COMMANDS[name].module)
    return typer.main.get_group(module.app).commands[name]


def main(arguments: Sequence[str]) -> int:
    """Run one command line; print errors; return the exit code."""
    try:
        load_command()(arrange(arguments), prog_name="engrams")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except EngramsError as error:
        print_error(error, as_json="--json" in arguments)
        return exit_code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        print_error(describe_failure(error), as_json="--json" in arguments)
        return 1
    return 0


def run() -> NoReturn:
    """Run the console script."""
    exit_codes: list[int] = []
    # Registered first, so it runs after all other exit handlers.
    atexit.register(_exit_now, exit_codes)
    # One thread for the small matrices of a search: more threads wait longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Searching every installed package for pydantic plugins (unused here) takes longer than --help.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # Modules and an index are many lasting objects; collecting among them takes a tenth of a short
    # command.
    gc.set_threshold(100_000, 50, 50)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has gone: discard the rest of the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    exit_codes.append(code)
    sys.exit(code)


def _exit_now(exit_codes: Sequence[int]) -> None:
    """Exit without tearing down objects, which takes long; with the one code that is there."""
    if not exit_codes:
        return  # Python shows the raised error
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_codes[0])
