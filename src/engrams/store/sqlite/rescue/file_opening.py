"""Preparation of a database file before its first use in a process.

Enter at ``prepare_file``: damage is noticed and rescued, an older schema migrated, terms of an
older scheme split again.
"""

from __future__ import annotations

import logging
from pathlib import Path

import apsw

from engrams import encryption
from engrams.errors import StoreError
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.seal_key import load_seals
from engrams.store.sql.named_queries import fetch_all
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sqlite import connections, schema_setup, stored_terms, table_sums
from engrams.store.sqlite.error_mapping import is_short_read
from engrams.store.sqlite.rescue.file_replacement import (
    replace_file,
    stop_writers,
    write_replacement,
)
from engrams.store.sqlite.rescue.value_check import find_invalid
from engrams.store.sqlite.rescue.wal_reader import read_log

_MAX_CHECKED_WHOLE = 4 << 20
"""Bytes of the largest file that is read whole on opening: that takes some milliseconds."""
_OTHER_SOURCES = (
    "`engrams doctor --repair` looks for a backup in the home folder and for the files of the"
    " vault; `engrams recover FILE` reads a backup into a fresh home (--home FOLDER)."
)
_log = logging.getLogger(__name__)


def prepare_file(path: Path, settings: StoreSettings, clock: Clock) -> list[str]:
    """Make an existing file ready for use; return notes on what was done.

    A damaged file is rescued and kept beside the new one, an older one migrated. StoreError:
    nothing could be rescued, or it is another program's file, or a newer engrams'. The file then
    stays as it is.
    """
    notes: list[str] = []
    try:
        # The log first: SQLite would drop what it takes for never written.
        looks_damaged = read_log(path).damaged or is_damaged(path, settings)
    except (apsw.IOError, apsw.CantOpenError):
        # Perhaps it is being moved aside by another process: look again under the lock.
        looks_damaged = True
    if looks_damaged and (note := rescue_file(path, settings, clock)):
        notes.append(note)
    if _is_current(path, settings):
        return notes
    connection = connections.open_writer(path, settings)
    try:
        newest = schema_setup.newest_version()
        version = schema_setup.read_version(connection, str(path), newest)
        backup = path.with_name(f"{path.name}.v{version}.bak")
        with table_sums.carry_over(connection, _load_seals(settings, path)):
            schema_setup.prepare(connection, str(path), backup)
            if not stored_terms.is_current(connection):
                notes.append(_split_texts_again(connection))
        if 0 < version < newest:
            _log.warning(
                "%s was upgraded from schema %d to %d. All memories were kept; the file as it was"
                " before is %s. Older versions of engrams cannot open the upgraded file.",
                path,
                version,
                newest,
                backup.name,
            )
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
        application = int(connection.pragma("application_id"))
        version = int(connection.pragma("user_version"))
        has_our_columns = bool(tables) and schema_setup.expected_columns() <= set(
            fetch_all(connection, "our_columns")
        )
        if has_our_columns and _is_one_byte_off(application, schema_setup.APPLICATION):
            bad = True  # its tables say whose it is
        elif (
            tables
            and application == schema_setup.APPLICATION
            and version == schema_setup.newest_version()
        ):
            if not has_our_columns:
                # Also an old file beside a newer log, whose first page has the newest number.
                raise apsw.CorruptError("a table or a column is missing")
            _touch_tables(connection)
            size = int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
            bad = size <= _MAX_CHECKED_WHOLE and bool(find_problems(connection))
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


def find_problems(connection: apsw.Connection) -> list[str]:
    """Find damage to tables, their indexes and their values."""
    problems = check_integrity(connection)
    try:
        return [*problems, *find_invalid(connection)]
    except UnicodeDecodeError as problem:
        return [*problems, f"A text is no UTF-8: {problem.reason}."]


def check_integrity(connection: apsw.Connection) -> list[str]:
    """Run SQLite's own check; return its findings."""
    return [text for (text,) in fetch_all(connection, "integrity") if text != "ok"]


def rescue_file(path: Path, settings: StoreSettings, clock: Clock) -> str:
    """Replace a damaged file by what can be read of it.

    Returns a note, empty where another process did it. StoreError: nothing of ours can be read from
    it; the file is left as it is.
    """
    from engrams.store.sqlite.rescue.row_salvage import copy_readable

    with write_replacement(path, "rescue") as fresh, stop_writers(path, settings):
        if not read_log(path).damaged and not is_damaged(path, settings):
            return ""
        copied, loss = copy_readable(path, fresh, settings)
        if not copied["records"]:
            raise StoreError(
                f"{path} is damaged, and no memory could be read from it. It was left as it is.",
                hint=_OTHER_SOURCES,
            )
        note = replace_file(path, fresh, clock, copied, loss)
    _log.warning("%s", note)
    return note


def _is_one_byte_off(number: int, expected: int) -> bool:
    """True if exactly one of the four bytes of two numbers differs."""
    differences = number ^ expected
    return sum(bool(differences >> shift & 0xFF) for shift in (0, 8, 16, 24)) == 1


def _touch_tables(connection: apsw.Connection) -> None:
    for table in ("records", "history", "edges", "jobs", "sessions", "owner_state"):
        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()  # noqa: S608 - our own tables


def _load_seals(settings: StoreSettings, path: Path) -> RowSeals:
    """Load the seals of a file; such as fit nothing where this process may not read their key."""
    try:
        return load_seals(settings, path)
    except PermissionError:
        return RowSeals()


def _split_texts_again(connection: apsw.Connection) -> str:
    """Split all texts by this version's scheme, in a transaction; return a note."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if stored_terms.is_current(connection):
            return "The terms of all memories were brought up to date by another process."
        count = stored_terms.rebuild(connection)
        connection.execute("COMMIT")
    except (apsw.CorruptError, apsw.ConstraintError) as problem:
        # More than the terms is damaged: reading and the full repair must stay possible.
        return (
            f"The index is damaged and could not be rebuilt ({problem}): run `engrams doctor"
            " --repair`."
        )
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return f"The terms of {count:,} memories were built again."


def _is_current(path: Path, settings: StoreSettings) -> bool:
    """Test without writing that the file needs nothing done."""
    connection = connections.open_reader(path, settings)
    try:
        newest = schema_setup.newest_version()
        return (
            schema_setup.read_version(connection, str(path), newest) == newest
            and stored_terms.is_current(connection)
            and not schema_setup.has_old_index(connection)
        )
    finally:
        connection.close()
