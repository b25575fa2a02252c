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
_MIN_WIDTH = 50
_MAX_WIDTH = 78
_DEFAULT_COLUMNS = 80


def format_overview() -> str:
    """Return what `engrams --help` prints, as wide as the terminal."""
    width = max(min(_find_columns() - 2, _MAX_WIDTH), _MIN_WIDTH)
    commands = [(name, command.help) for name, command in COMMANDS.items()]
    blocks = [
        ["Usage: engrams [OPTIONS] COMMAND [ARGS]..."],
        _indent(ABOUT, width),
        ["Options:", *_format_rows(_OPTIONS, width)],
        ["Commands:", *_format_rows(commands, width)],
        _indent(MORE, width),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _indent(text: str, width: int) -> list[str]:
    return wrap(text, width, initial_indent="  ", subsequent_indent="  ")


def _format_rows(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Format names and texts as two columns."""
    rows = list(rows)
    name_width = max(len(name) for name, _ in rows) + 2
    lines = []
    for name, text in rows:
        first, *following = wrap(text, max(width - name_width - 2, 10))
        lines.append(f"  {name:{name_width}}{first}")
        lines += [f"  {'':{name_width}}{line}" for line in following]
    return lines


def _find_columns() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _DEFAULT_COLUMNS
    except (OSError, ValueError):
        return _DEFAULT_COLUMNS
