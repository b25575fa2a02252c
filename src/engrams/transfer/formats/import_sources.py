"""Sources of an import: paths, streams and files that can be opened again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeAlias

from engrams.frozen_data import dataclass

ImportSource: TypeAlias = Path | str | IO[Any]
"""Path of a file (``-``: standard input), or a stream of bytes or text."""
STDIN = "-"


@dataclass(frozen=True, slots=True)
class ImportFile:
    """One file to import."""

    name: str
    """Path within its folder or zip, as it is shown."""
    open: Callable[[], ImportSource]
    """Opens the file at its beginning, as often as asked."""
    path: Path | None = None
    """Path on disk. None: it is no file of its own."""
    source: str = ""
    """Address that it came from. Empty: its path, or its name in what is imported."""


def describe_source(source: ImportSource) -> str:
    """Return the path of a source; empty for a stream without a name."""
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "name", ""))


def open_stdin() -> IO[bytes]:
    """Return standard input as bytes."""
    return sys.stdin.buffer
