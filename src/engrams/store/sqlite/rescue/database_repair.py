"""Detection and repair of damage, keeping what is readable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from engrams import encryption
from engrams.errors import StoreError
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sql.named_queries import fetch_all
from engrams.store.sqlite import connections, schema_setup, term_rebuild
from engrams.store.sqlite.error_mapping import is_short_read
from engrams.store.sqlite.folder_lock import lock_folder
from engrams.store.sqlite.rescue import lost_memories
from engrams.store.sqlite.rescue.value_repair import find_invalid
from engrams.store.sqlite.rescue.wal_reader import read_log

_LOGS = ("-wal", "-shm")
_CHECKED_WHOLE = 4 << 20
"""Largest file that is read whole on opening: that takes some milliseconds."""
_NAMES = {"records": "memories", "owner_state": "states", "outbox": "waiting notices"}
RESCUED = ".rescued"
"""End of a damaged file's name once what it held was brought back."""
LOST = (
    "`engrams doctor --repair` looks for a backup in the home folder and for the files of the"
    " vault; `engrams recover FILE` reads a backup into a fresh home (--home FOLDER)."
)
_log = logging.getLogger(__name__)


def prepare(path: Path, settings: StoreSettings, clock: Clock) -> list[str]:
    """Make an existing file ready for use; notes on what was done.

    A damaged file is rescued and kept beside the new one, an older one migrated. StoreError:
    nothing could be rescued, or it is another program's file, or a newer engrams'. The file then
    stays as it is.
    """
    notes: list[str] = []
    try:
        # The log first: SQLite would drop what it takes for never written.
        bad = read_log(path).damaged or is_damaged(path, settings)
    except (apsw.IOError, apsw.CantOpenError):
        bad = True  # perhaps being moved aside by another process: look again under the lock
    if bad and (note := rescue(path, settings, clock)):
        notes.append(note)
    if _is_current(path, settings):
        return notes
    connection = connections.open_writer(path, settings)
    try:
        found = schema_setup.read_version(connection, str(path), schema_setup.newest_version())
        schema_setup.prepare(connection, str(path), path.with_name(f"{path.name}.v{found}.bak"))
        if not term_rebuild.is_current(connection):
            notes.append(_run_now(connection, rebuild_terms))
    finally:
        connection.close()
    return notes


def is_damaged(path: Path, settings: StoreSettings) -> bool:
    """True if SQLite cannot read the file.

    A small one is read whole.
    """
    connection = None
    try:
        connection = connections.open_reader(path, settings)
        tables = fetch_all(connection, "any_table")
        # A header of zeros before pages that hold something reads as a database without tables.
        bad = (
            not tables
            and path.stat().st_size > 0
            and not encryption.find_raw_keys(path)
            and not encryption.is_plain(path)
        )
        marks = (int(connection.pragma("application_id")), int(connection.pragma("user_version")))
        ours = bool(tables) and schema_setup.expected_columns() <= set(
            fetch_all(connection, "our_columns")
        )
        if ours and _is_one_byte_off(marks[0], schema_setup.APPLICATION):
            bad = True  # its tables say whose it is
        elif tables and marks == (schema_setup.APPLICATION, schema_setup.newest_version()):
            _touch_tables(connection)
            if not ours:
                raise apsw.CorruptError("a column is called otherwise than it was made")
            small = (
                int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
                <= _CHECKED_WHOLE
            )
            bad = small and bool(find_problems(connection))
    except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.IOError) as problem:
        if connection is not None:
            connections.close_replaced(connection)
        if isinstance(problem, apsw.IOError) and not is_short_read(problem):
            raise
        encryption.require_own_file(path)
        return True
    if bad:
        connections.close_replaced(connection)
    else:
        apsw.Connection.close(connection)
    return bad


def _is_one_byte_off(found: int, wanted: int) -> bool:
    return sum(bool((found ^ wanted) >> shift & 0xFF) for shift in (0, 8, 16, 24)) == 1


def _touch_tables(connection: apsw.Connection) -> None:
    for table in ("records", "history", "edges", "jobs", "sessions", "owner_state"):
        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()  # noqa: S608 - our own tables


def find_problems(connection: apsw.Connection) -> list[str]:
    """Damage to tables and their indexes."""
    found = check_integrity(connection)
    try:
        return [*found, *find_invalid(connection)]
    except UnicodeDecodeError as problem:
        return [*found, f"A text is no UTF-8: {problem.reason}."]


def check_integrity(connection: apsw.Connection) -> list[str]:
    """Run SQLite's own check; return its findings."""
    return [text for (text,) in fetch_all(connection, "integrity") if text != "ok"]


def rescue(path: Path, settings: StoreSettings, clock: Clock) -> str:
    """Replace a damaged file by what can be read of it.

    Returns a note, empty where another process did it.

    StoreError: nothing of ours can be read from it. The file is left as it is.
    """
    from engrams.store.sqlite.rescue.row_salvage import copy_readable

    with lock_folder(path.parent), stop_writers(path, settings):
        if not read_log(path).damaged and not is_damaged(path, settings):
            return ""
        fresh = path.with_name(f"{path.name}.rescue")
        remove_with_logs(fresh)
        try:
            copied, loss = copy_readable(path, fresh, settings)
            if not copied["records"]:
                raise StoreError(
                    f"{path} is damaged, and no memory could be read from it. It was left as"
                    " it is.",
                    hint=LOST,
                )
            note = replace_file(path, fresh, clock, copied, loss)
        finally:
            remove_with_logs(fresh)
    _log.warning("%s", note)
    return note


def replace_file(
    path: Path,
    fresh: Path,
    clock: Clock,
    copied: Mapping[str, int],
    loss: lost_memories.MemoryRescueLoss,
) -> str:
    """Put a rescued copy in a file's place.

    Under the folder's lock; returns a note of what came back.
    """
    suffix = f"{damaged_suffix(clock)}{RESCUED}"
    # Before the file: whoever reads the new one must be able to tell what is missing.
    lost_memories.remember(path, f"{path.name}.{suffix}", loss)
    kept = rename_with_logs(path, suffix)
    fresh.rename(path)
    summary = ", ".join(
        f"{total:,} {_NAMES.get(name, name)}"
        for name, total in copied.items()
        if total and name != "models"
    )
    missing = f" {loss}." if loss else ""
    back = f"{path.name} was damaged. What could be read was copied to a new file ({summary})."
    return f"{back}{missing} The damaged file is kept as {kept.name}."


def merge_damaged(path: Path, settings: StoreSettings) -> list[str]:
    """Bring back missing rows from damaged files that lie aside.

    Returns notes.
    """
    from engrams.store.sqlite.rescue.row_salvage import copy_readable

    notes = []
    for name in list_damaged(path):
        held = path.with_name(name)
        copied, loss = copy_readable(held, path, settings)
        missing = f"; {loss}" if loss else ""
        if not copied["records"] and not has_rows(held, path, settings):
            notes.append(f"Nothing could be read from {name}.")
            continue
        lost_memories.remember(path, f"{name}{RESCUED}", loss)
        rename_with_logs(held, RESCUED.lstrip("."))
        notes.append(f"{copied['records']:,} memories were brought back from {name}{missing}.")
    return notes


def has_rows(held: Path, path: Path, settings: StoreSettings) -> bool:
    """True if a file holds readable memories, known or not."""
    from engrams.store.sqlite.rescue.row_salvage import read_rows, read_shapes

    connection = connections.open_reader(path, settings)
    try:
        return bool(read_rows(held, read_shapes(connection)).rows["records"])
    finally:
        connection.close()


def remove_with_logs(path: Path) -> None:
    for end in ("", *_LOGS):
        path.with_name(path.name + end).unlink(missing_ok=True)


def damaged_suffix(clock: Clock) -> str:
    """Suffix of a damaged file's name."""
    return f"corrupt-{clock():%Y%m%dT%H%M%S%fZ}"


def rename_with_logs(path: Path, suffix: str) -> Path:
    """Rename a database and its logs; the new path."""
    kept = path.with_name(f"{path.name}.{suffix}")
    # Logs first: a crash in between must not leave the old log beside a new file.
    for log in _LOGS:
        old = path.with_name(path.name + log)
        if old.exists():
            old.rename(kept.with_name(kept.name + log))
    path.rename(kept)
    return kept


def list_damaged(path: Path) -> list[str]:
    """Names of damaged files that lie aside and were not rescued."""
    return sorted(
        found.name
        for found in path.parent.glob(f"{path.name}.corrupt-*")
        if not found.name.endswith((*_LOGS, RESCUED))
    )


def rebuild_terms(connection: apsw.Connection) -> str:
    """Split all texts into terms again inside the caller's transaction; a note."""
    if term_rebuild.is_current(connection):
        return "The terms of all memories were brought up to date by another process."
    return f"The terms of {term_rebuild.rebuild(connection):,} memories were built anew."


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


def _run_now(connection: apsw.Connection, rebuild: Callable[[apsw.Connection], str]) -> str:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = rebuild(connection)
        connection.execute("COMMIT")
    except (apsw.CorruptError, apsw.ConstraintError) as problem:
        # More than this index is damaged: reading and the full repair must stay possible.
        return f"The index is damaged and could not be rebuilt ({problem}): run `engrams doctor --repair`."
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return done


def _is_current(path: Path, settings: StoreSettings) -> bool:
    """Test without writing that the file needs nothing done."""
    connection = connections.open_reader(path, settings)
    try:
        newest = schema_setup.newest_version()
        current = schema_setup.read_version(connection, str(path), newest) == newest
        return (
            current
            and term_rebuild.is_current(connection)
            and not schema_setup.has_old_index(connection)
        )
    finally:
        connection.close()
