"""One file of an import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engrams.frozen_data import dataclass
from engrams.transfer.formats.decode import Origin


@dataclass(frozen=True, slots=True)
class ImportFile:
    """One file to import; ``open`` gives its beginning, as often as asked.

    ``path``: where it lies, if it is a file of its own.
    """

    name: str
    open: Callable[[], Origin]
    path: Path | None = None
