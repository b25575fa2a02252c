"""Purge of damaged databases that lie aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sqlite.rescue.file_replacement import remove_with_logs, write_replacement
from engrams.store.sqlite.rescue.row_salvage import copy_readable
from engrams.store.sqlite.store import SqliteStore


def purge_damaged_file(
    path: Path, settings: StoreSettings, clock: Clock, purge: Callable[[SqliteStore], object]
) -> None:
    """Replace a damaged file by what can be read of it, after ``purge`` removed something from that.

    StoreError: nothing can be read.
    """
    with write_replacement(path, "purged") as fresh:
        copied, _ = copy_readable(path, fresh, settings)
        if not copied["records"]:
            return
        store = SqliteStore.open(fresh, settings, clock)
        try:
            purge(store)
        finally:
            store.close()
        remove_with_logs(path)
        fresh.rename(path)
