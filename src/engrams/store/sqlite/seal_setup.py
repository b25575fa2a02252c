"""The key of a file's seals: found, or made at the first opening, when all rows are sealed.

The file says by which key it is sealed, and the key lies outside of it. So a file of another home,
and one without seals beside a key, are noticed: their rows are taken for altered.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import closing
from pathlib import Path

import apsw

from engrams.encryption.file_ledger import seal_files
from engrams.encryption.seal_keys import (
    KEY_BYTES,
    has_sums,
    read_key,
    write_key,
)
from engrams.errors import StoreError
from engrams.settings import StoreSettings
from engrams.store.seal_key import find_key_file
from engrams.store.sql.census import take_census
from engrams.store.sql.named_queries import execute, fetch_all, fetch_one
from engrams.store.sql.row_seals import RowSeals, name_key
from engrams.store.sql.sealing import seal_rows
from engrams.store.sqlite import connections, ledger_mark, table_sums

_MARK = "seals"
"""Name of the counter that holds the name of the key; 0: the file is not sealed."""
_GONE = (
    "somebody took it away or emptied it. `engrams recover FILE` reads a backup, and `engrams reindex`"
    " the files of a vault."
)
_log = logging.getLogger(__name__)


def use_key(path: Path, settings: StoreSettings, seals: RowSeals) -> str:
    """Let seals use the key of a file; make one for a file that has none, and seal its rows.

    Returns a note, empty where nothing is to be told. StoreError: the setting names a file without
    the key of this database.
    """
    key_file = find_key_file(settings, path)
    assert key_file is not None
    with closing(connections.open_reader(path, settings)) as reader:
        mark = _read_mark(reader)
        count = int(fetch_one(reader, "tallied")[0])
        is_empty = not fetch_all(reader, "any_record")
    try:
        key = _find_key(key_file, mark)
    except PermissionError:
        seals.go_blind()
        return _tell(f"{key_file.name} cannot be read: nobody checks what was changed.")
    seals.set_key(key)
    if key and mark == _to_mark(key):
        if not has_sums(key_file):
            _add_sums(path, settings, seals, key_file, key)
        return ""
    if not key and mark and settings.seal_key:
        raise StoreError(
            f"{key_file} does not exist, and {path} is sealed by its key.",
            hint="Put the key back. Without it nobody can tell what was changed.",
        )
    if key and not is_empty:
        seals.is_foreign = True
        origin = "the key of another home" if mark else "no key, although this home has one"
        return _tell(
            f"{path.name} is sealed by {origin}: its {count:,} memories are left out."
            f" Put the key of this memory back as {key_file}; `engrams doctor --accept` trusts what"
            " is there."
        )
    return _seal_file(path, settings, seals, key_file)


def seal_all(connection: apsw.Connection, seals: RowSeals) -> int:
    """Seal all rows as they are, inside the caller's transaction; return how many had no seal."""
    seals.forgive()
    numbers = [number for (number,) in fetch_all(connection, "numbers")]
    count = seal_rows(connection, seals, numbers)
    name_sealing_key(connection, seals)
    ledger_mark.forget(connection)
    take_all(connection, seals)
    return count


def name_sealing_key(connection: apsw.Connection, seals: RowSeals) -> None:
    """Note in the file by which key its rows are sealed, inside the caller's transaction."""
    execute(connection, "set_counter", _MARK, _to_mark_of(seals))


def take_all(connection: apsw.Connection, seals: RowSeals) -> None:
    """Count all rows of all owners and tables anew."""
    for (owner_key,) in fetch_all(connection, "census_owners"):
        take_census(connection, seals, owner_key)
    table_sums.take_sums(connection, seals)


def _add_sums(
    path: Path, settings: StoreSettings, seals: RowSeals, key_file: Path, key: bytes
) -> None:
    """Sum the rows of a file that was sealed before its tables had sums.

    The key says that it was done. So nobody who may write the database alone can have it done again.
    """
    try:
        with closing(connections.open_writer(path, settings)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            table_sums.take_sums(connection, seals)
            connection.execute("COMMIT")
        seal_files(path.parent, key)
        _note_sums(key_file, key)
    except (apsw.ReadOnlyError, OSError) as problem:
        _log.info("The tables of %s have no sums: %s.", path, problem)


def _note_sums(key_file: Path, key: bytes) -> None:
    """Let a key say that the tables of its home have sums."""
    # Several that open a home at once may do this at the same time.
    new_file = key_file.with_name(f"{key_file.name}.{os.getpid()}.{threading.get_ident()}.new")
    write_key(new_file, key)
    new_file.replace(key_file)


def _seal_file(path: Path, settings: StoreSettings, seals: RowSeals, key_file: Path) -> str:
    """Seal a file that no key of this home has sealed."""
    new_file = key_file.with_name(f"{key_file.name}.new")
    with closing(connections.open_writer(path, settings)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have done it meanwhile.
            mark = _read_mark(connection)
            key = _find_key(key_file, mark)
            is_new = not key
            if is_new:
                key = os.urandom(KEY_BYTES)
                write_key(new_file, key)
            seals.set_key(key)
            if mark == _to_mark(key):
                return ""
            seal_all(connection, seals)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    seal_files(path.parent, key)
    if is_new:
        # A process that dies before this leaves a new key that the file names.
        _put_key(new_file, key_file, key)
    if mark:
        return _tell(f"{path.name} was sealed by a key that is gone. It has a new one.")
    if is_new or settings.seal_key:
        return ""
    if has_sums(key_file):
        return _tell(f"{path.name} is new, although this home has a key: {_GONE}")
    _note_sums(key_file, key)  # an API key was made before the first memory
    return ""


def tell_missing(path: Path, settings: StoreSettings) -> str:
    """Tell that the database of a home with a key is gone; empty: there was none."""
    key_file = find_key_file(settings, path)
    if key_file is None or settings.seal_key or not key_file.exists() or not has_sums(key_file):
        return ""
    return _tell(f"{path.name} is missing, although this home has a key: {_GONE}")


def _find_key(key_file: Path, mark: int) -> bytes:
    """Read the key, or the new one of a process that died when it had sealed the file."""
    key = read_key(key_file)
    if mark and (not key or mark != _to_mark(key)):
        new_file = key_file.with_name(f"{key_file.name}.new")
        new_key = read_key(new_file)
        if new_key and mark == _to_mark(new_key):
            _put_key(new_file, key_file, new_key)
            return new_key
    return key


def _put_key(new_file: Path, key_file: Path, key: bytes) -> None:
    """Put a new key in its place; another process that opens the home may do it first."""
    try:
        new_file.replace(key_file)
    except FileNotFoundError:
        if read_key(key_file) != key:
            raise


def _read_mark(connection: apsw.Connection) -> int:
    return int(fetch_one(connection, "spent", _MARK)[0])


def _to_mark(key: bytes) -> int:
    return int.from_bytes(name_key(key), "big")


def _to_mark_of(seals: RowSeals) -> int:
    return int.from_bytes(seals.key_id, "big")


def _tell(note: str) -> str:
    _log.warning("%s", note)
    return note
