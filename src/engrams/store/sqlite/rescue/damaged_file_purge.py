"""Purge of damaged databases that lie aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engrams.settings import StoreSettings
from engrams.store.sqlite.rescue.file_replacement import remove_with_logs, write_replacement
from engrams.store.sqlite.rescue.row_salvage import copy_readable


def purge_damaged_file(
    path: Path, settings: StoreSettings, purge: Callable[[Path], object]
) -> None:
    """Replace a damaged file by what can be read of it, after ``purge`` has worked on the copy.

    StoreError: nothing can be read.
    """
    with write_replacement(path, "purged") as fresh:
        copied, _ = copy_readable(path, fresh, settings)
        if not copied["records"]:
            return
        purge(fresh)
        remove_with_logs(path)
        fresh.rename(path)
