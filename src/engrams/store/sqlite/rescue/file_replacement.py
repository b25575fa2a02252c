"""Replacement of a damaged database file; the damaged one is never removed.

A damaged file is renamed to ``NAME.corrupt-TIME``, and ``NAME.corrupt-TIME.rescued`` once what it
held was brought back. A file without that end still holds memories: the doctor reads it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sqlite import connections
from engrams.store.sqlite.folder_lock import lock_folder
from engrams.store.sqlite.rescue import lost_memories
from engrams.store.sqlite.rescue.lost_memories import MemoryRescueLoss, describe_table
from engrams.store.sqlite.rescue.wal_reader import read_log

RESCUED = ".rescued"
"""End of a damaged file's name once what it held was brought back."""
_LOG_ENDINGS = ("-wal", "-shm")


def replace_file(
    path: Path, fresh: Path, clock: Clock, copied: Mapping[str, int], loss: MemoryRescueLoss
) -> str:
    """Put a rescued copy in a file's place; return a note of what came back.

    Called under the folder's lock. ``copied``: rows by table.
    """
    suffix = f"{name_damaged(clock)}{RESCUED}"
    # Before the file: whoever reads the new one must be able to tell what is missing.
    lost_memories.remember(path, f"{path.name}.{suffix}", loss)
    damaged_path = rename_with_logs(path, suffix)
    fresh.rename(path)
    summary = ", ".join(
        f"{count:,} {describe_table(table)}"
        for table, count in copied.items()
        if count and table != "models"
    )
    loss_note = f" {loss}." if loss else ""
    return (
        f"{path.name} was damaged. Its readable part was copied to a new file ({summary})."
        f"{loss_note} The damaged file is kept as {damaged_path.name}."
    )


def merge_damaged(path: Path, settings: StoreSettings) -> list[str]:
    """Add the rows of damaged files that were moved aside and not rescued; return notes.

    Rows that are there already stay as they are.
    """
    from engrams.store.sqlite.rescue.row_salvage import copy_readable

    notes = []
    for name in list_damaged(path):
        damaged_path = path.with_name(name)
        copied, loss = copy_readable(damaged_path, path, settings)
        if not copied["records"] and not _has_rows(damaged_path, path, settings):
            notes.append(f"Nothing could be read from {name}.")
            continue
        lost_memories.remember(path, f"{name}{RESCUED}", loss)
        rename_with_logs(damaged_path, RESCUED.lstrip("."))
        loss_note = f"; {loss}" if loss else ""
        notes.append(f"{copied['records']:,} memories were brought back from {name}{loss_note}.")
    return notes


def _has_rows(damaged_path: Path, path: Path, settings: StoreSettings) -> bool:
    """True if a damaged file holds readable memories, also such as are in ``path`` already."""
    from engrams.store.sqlite.rescue.row_salvage import read_rows, read_shapes

    connection = connections.open_reader(path, settings)
    try:
        return bool(read_rows(damaged_path, read_shapes(connection)).rows["records"])
    finally:
        connection.close()


@contextmanager
def write_replacement(path: Path, ending: str) -> Iterator[Path]:
    """Lend the path of a fresh file beside ``path``; it is removed unless it was renamed.

    The folder is locked meanwhile.
    """
    fresh = path.with_name(f"{path.name}.{ending}")
    with lock_folder(path.parent):
        remove_with_logs(fresh)
        try:
            yield fresh
        finally:
            remove_with_logs(fresh)


@contextmanager
def stop_writers(path: Path, settings: StoreSettings) -> Iterator[None]:
    """Stop other processes' writes, where the file takes a lock.

    The log is left as it is.
    """
    connection = None
    with suppress(apsw.CorruptError, apsw.NotADBError, apsw.FormatError):
        if not read_log(path).cut:
            connection = connections.open_reader(path, settings)
            connection.pragma("query_only", "OFF")
            connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if connection is not None:
            connections.close_replaced(connection)


def list_damaged(path: Path) -> list[str]:
    """Names of damaged files that lie beside ``path`` and were not rescued."""
    return sorted(
        file.name
        for file in path.parent.glob(f"{path.name}.corrupt-*")
        if not file.name.endswith((*_LOG_ENDINGS, RESCUED))
    )


def name_damaged(clock: Clock) -> str:
    """Suffix of the name of a file that is found damaged now."""
    return f"corrupt-{clock():%Y%m%dT%H%M%S%fZ}"


def remove_with_logs(path: Path) -> None:
    """Remove a database and its logs, if they are there."""
    for ending in ("", *_LOG_ENDINGS):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def rename_with_logs(path: Path, suffix: str) -> Path:
    """Rename a database and its logs; return the new path."""
    renamed = path.with_name(f"{path.name}.{suffix}")
    # Logs first: a crash in between must not leave the old log beside a new file.
    for ending in _LOG_ENDINGS:
        log = path.with_name(path.name + ending)
        if log.exists():
            log.rename(renamed.with_name(renamed.name + ending))
    path.rename(renamed)
    return renamed
