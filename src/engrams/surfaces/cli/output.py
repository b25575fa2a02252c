"""Print results as JSON or text; notes go to standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Protocol, TextIO

from engrams.ipc.served_command import CURRENT

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_EVERY = 5.0
_COLOURS = {"dim": "2", "bold": "1", "green": "32", "yellow": "33", "red": "31", "cyan": "36"}


class OutputOptions(Protocol):
    """Options of a command that choose the form of its output."""

    @property
    def json(self) -> bool:
        """True: JSON instead of text."""
        ...


def to_json(value: Any) -> Any:
    """Convert any answer of the engine to JSON values."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "labels"):
            return list(value.labels)
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int):
        return value
    return float(value) if hasattr(value, "__float__") else str(value)


def emit(value: Any) -> None:
    """Print one JSON value on one line of standard output."""
    ascii_only = "utf" not in (out_stream().encoding or "").casefold()
    say(json.dumps(to_json(value), ensure_ascii=ascii_only))


def report(options: OutputOptions, data: Any, text: str) -> None:
    """Print the result of a command: ``data`` with --json, else ``text``."""
    if options.json:
        emit(data)
    else:
        say(text)


def say(text: str = "") -> None:
    """Print a line of the result to standard output."""
    print(text, file=out_stream())


def note(text: str) -> None:
    """Print a message to standard error."""
    served = CURRENT.get()
    print(text, file=served.err if served else sys.stderr)


def out_stream() -> TextIO:
    """Return standard output, of the process that asked for this command."""
    served = CURRENT.get()
    return served.out if served else sys.stdout


def environ() -> Mapping[str, str]:
    """Return the environment, of the process that asked for this command."""
    served = CURRENT.get()
    return served.call.environ if served else os.environ


def has_colours() -> bool:
    """Check that standard output is a terminal that wants colours."""
    return (
        out_stream().isatty() and not environ().get("NO_COLOR") and environ().get("TERM") != "dumb"
    )


def paint(text: str, colour: str) -> str:
    """Colour the text if colours are wanted."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if has_colours() else text


def clean(text: str) -> str:
    """Replace surrogates, and control characters that could steer a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").encode("utf-8", "replace").decode())


def terminal_width() -> int:
    """Return the terminal's columns; unlimited for a pipe."""
    if not out_stream().isatty():
        return 200
    served = CURRENT.get()
    return served.columns if served else shutil.get_terminal_size((100, 24)).columns


def text_width(text: str) -> int:
    """Count columns: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    visible = [char for char in text if not unicodedata.combining(char)]
    return len(visible) + sum(unicodedata.east_asian_width(char) in "WF" for char in visible)


def fit_line(text: str, columns: int) -> str:
    """Fit the text on one line of ``columns``, with an ellipsis."""
    line = " ".join(clean(text[: columns * 4]).split())
    if text_width(line) <= columns and len(text) <= columns * 4:
        return line
    fitting = []
    width = 1
    for char in line:
        width += text_width(char)
        if width > columns:
            break
        fitting.append(char)
    return "".join(fitting).rstrip() + "…"


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], colours: Mapping[int, str] | None = None
) -> None:
    """Print an aligned table; the last column is cut to fit."""
    cells = [[*(fit_line(cell, 40) for cell in row[:-1]), row[-1]] for row in rows]
    sizes = [
        max(text_width(row[column]) for row in [list(heads), *cells])
        for column in range(len(heads) - 1)
    ]
    room = max(20, terminal_width() - sum(sizes) - 2 * len(sizes))
    for index, row in enumerate([list(heads), *cells]):
        padded = [
            cell + " " * (size - text_width(cell)) for cell, size in zip(row, sizes, strict=False)
        ]
        line = [*padded, fit_line(row[-1], room)]
        if index == 0:
            line = [paint(cell, "dim") for cell in line]
        else:
            line = [
                paint(cell, colours[column]) if colours and column in colours else cell
                for column, cell in enumerate(line)
            ]
        say("  ".join(line).rstrip())


def format_time(moment: datetime | None) -> str:
    """Format a time for a table, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def format_iso(moment: str) -> str:
    """Format a time in UTC, written by ISO 8601, for a table; an empty one stays empty."""
    return moment[:16].replace("T", " ")


class _ProgressLines:
    """Progress for logs and pipes: a line every five seconds."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._last = time.monotonic()

    def update(self, completed: int, total: int) -> None:
        if time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            note(
                f"{self._label}: {completed:,} of {total:,} ({100 * completed // total} %)"
                if total
                else f"{self._label}: {completed:,}"
            )


@contextmanager
def show_progress(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show progress, as a bar on a terminal; yields its update function."""
    if quiet or not sys.stderr.isatty():
        yield (lambda _completed, _total: None) if quiet else _ProgressLines(label).update
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None)
        yield lambda completed, total: bars.update(task, completed=completed, total=total or None)
