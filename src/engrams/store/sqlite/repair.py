"""Detection and repair of damage, keeping what is readable."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sqlite import connect, lexicon, migrate
from engrams.store.sqlite.sql import execute, fetch_all, fetch_first, query, stream_rows

_LOGS = ("-wal", "-shm")


def prepare(path: Path, settings: StoreSettings, clock: Clock) -> list[str]:
    """Make an existing file ready for use; notes on what was done.

    An unreadable file is moved aside, an older one migrated, a damaged full-text index rebuilt. StoreError: another program's file,
    or a newer engrams'.
    """
    notes: list[str] = []
    try:
        bad = is_damaged(path, settings)
    except (apsw.IOError, apsw.CantOpenError):
        bad = True  # perhaps being moved aside by another process: look again under the lock
    if bad and (kept := move_damaged_aside(path, settings, clock)) is not None:
        notes.append(f"{path.name} could not be read; it was moved to {kept.name} and a new one made.")
    if _is_current(path, settings):
        return notes
    connection = connect.open_writer(path, settings)
    try:
        found = migrate.read_version(connection, str(path), migrate.newest_version())
        migrate.prepare(connection, str(path), path.with_name(f"{path.name}.v{found}.bak"))
        if not has_working_index(connection):
            notes.append(_rebuild_now(connection))
    finally:
        connection.close()
    return notes


def is_damaged(path: Path, settings: StoreSettings) -> bool:
    """Test whether SQLite cannot read the file."""
    connection = None
    try:
        connection = connect.open_reader(path, settings)
        fetch_all(connection, "any_table")
    except (apsw.CorruptError, apsw.NotADBError):
        if connection is not None:
            connect.close_replaced(connection)
        return True
    connection.close()
    return False


def move_damaged_aside(path: Path, settings: StoreSettings, clock: Clock) -> Path | None:
    """Move an unreadable file aside and create an empty one.

    None: another process did it.
    """
    with lock_folder(path.parent):
        if not is_damaged(path, settings):
            return None
        kept = rename_with_logs(path, damaged_suffix(clock))
        connect.create_file(path)
        return kept


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
    """Names of damaged files that were moved aside."""
    return sorted(found.name for found in path.parent.glob(f"{path.name}.corrupt-*") if not found.name.endswith(_LOGS))


def has_working_index(connection: apsw.Connection) -> bool:
    """Test quickly that the full-text index knows the last record."""
    last = fetch_first(connection, "last_lexemes")
    try:
        term = lexicon.decode(connection, last[1][:4])[0] if last and last[1] else "a"
        match = '"' + term.replace('"', '""') + '"'
        known = fetch_first(connection, "holds_posting", match, last[0] if last else 0)
    except (apsw.CorruptError, apsw.SQLError, KeyError):
        return False
    return known is not None or not last or not last[1]


def verify_index(connection: apsw.Connection) -> bool:
    """Compare the full-text index with the terms of all records."""
    expected: Counter[int] = Counter()
    for _, lexemes in stream_rows(connection, "all_lexemes"):
        expected.update(set(array("I", lexemes)))
    terms = dict(fetch_all(connection, "all_terms"))
    try:
        found = dict(fetch_all(connection, "vocabulary"))
    except (apsw.CorruptError, apsw.SQLError):
        return False
    return found == {terms.get(number): total for number, total in expected.items()}


def rebuild_index(connection: apsw.Connection) -> str:
    """Rebuild the full-text index inside the caller's transaction; a note."""
    execute(connection, "drop_postings")
    execute(connection, "make_postings")
    execute(connection, "harden_postings")
    terms = dict(fetch_all(connection, "all_terms"))
    rows = fetch_all(connection, "all_lexemes")
    texts = ((number, " ".join(terms.get(term, "") for term in array("I", lexemes))) for number, lexemes in rows)
    connection.executemany(query("add_postings"), texts)
    return f"The full-text index was rebuilt from {len(rows):,} records."


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one process, where folders can be locked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _rebuild_now(connection: apsw.Connection) -> str:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = rebuild_index(connection)
        connection.execute("COMMIT")
    except (apsw.CorruptError, apsw.ConstraintError) as problem:
        # More than this index is damaged: reading and the full repair must stay possible.
        return f"The full-text index is damaged and could not be rebuilt ({problem}): run `engrams check --repair`."
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return done


def _is_current(path: Path, settings: StoreSettings) -> bool:
    """Test without writing that the file needs nothing done."""
    connection = connect.open_reader(path, settings)
    try:
        return migrate.read_version(connection, str(path), migrate.newest_version()) == migrate.newest_version() and has_working_index(
            connection
        )
    finally:
        connection.close()
