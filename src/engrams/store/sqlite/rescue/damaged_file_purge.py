"""Purge of damaged databases that lie aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sqlite.folder_lock import lock_folder
from engrams.store.sqlite.rescue.database_repair import remove_with_logs
from engrams.store.sqlite.rescue.row_salvage import copy_readable
from engrams.store.sqlite.store import SqliteStore


def purge_copy(
    path: Path, settings: StoreSettings, clock: Clock, purge: Callable[[SqliteStore], object]
) -> None:
    """Replace a damaged file by what can be read of it, purged.

    StoreError: nothing can be read.
    """
    fresh = path.with_name(f"{path.name}.purged")
    with lock_folder(path.parent):
        remove_with_logs(fresh)
        try:
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
        finally:
            remove_with_logs(fresh)
