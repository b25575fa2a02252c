"""Overview of all commands, without the slow command parser.

A test compares it with what the parser itself prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from textwrap import wrap

from engrams.program.command_table import COMMANDS

ABOUT = "Durable, layered, explainable memory for LLM agents."
MORE = "Every command takes --json, --home and --user; `engrams COMMAND --help` shows the rest."
_OPTIONS = (
    ("--version", "Show the version and exit."),
    ("--install-completion", "Install completion for the current shell."),
    (
        "--show-completion",
        "Show completion for the current shell, to copy it or customize the installation.",
    ),
    ("-h, --help", "Show this message and exit."),
)
_LEAST = 50
_MOST = 78
_COLUMNS = 80


def format_overview() -> str:
    """Return what `engrams --help` prints, as wide as the terminal."""
    width = max(min(_find_columns() - 2, _MOST), _LEAST)
    commands = [(name, command.help) for name, command in COMMANDS.items()]
    parts = [
        ["Usage: engrams [OPTIONS] COMMAND [ARGS]..."],
        _indent(ABOUT, width),
        ["Options:", *_format_rows(_OPTIONS, width)],
        ["Commands:", *_format_rows(commands, width)],
        _indent(MORE, width),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _indent(text: str, width: int) -> list[str]:
    return wrap(text, width, initial_indent="  ", subsequent_indent="  ")


def _format_rows(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Format names and texts as two columns."""
    listed = list(rows)
    first = max(len(name) for name, _ in listed) + 2
    lines = []
    for name, text in listed:
        head, *rest = wrap(text, max(width - first - 2, 10))
        lines += [f"  {name:{first}}{head}", *(f"  {'':{first}}{line}" for line in rest)]
    return lines


def _find_columns() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
