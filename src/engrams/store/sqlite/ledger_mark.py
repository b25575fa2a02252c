"""The number of the ledger of a home's files, in its database.

The ledger (``encryption/file_ledger.py``) tells of files that are gone, and the database of a ledger
that is gone or was put back. The row has a sum as its whole table (``table_sums``).
"""

from __future__ import annotations

from pathlib import Path

import apsw

from engrams.encryption.file_ledger import LEDGER_NAME, FileLedger
from engrams.errors import StoreError
from engrams.settings import StoreSettings
from engrams.store.seal_key import find_key_file
from engrams.store.sql.named_queries import execute, fetch_one

_MARK = "ledger"
"""Name of the counter."""


def find_difference(connection: apsw.Connection, ledger: FileLedger) -> str:
    """Say how the ledger is older than the database names it; empty: it is not."""
    marked = _read_mark(connection)
    try:
        number = ledger.read_number()
    except StoreError:
        return ""  # the check of the files tells of it
    if number >= marked:
        return ""
    way = "was put back to an earlier state, or made anew" if number else "is gone"
    return (
        f"The ledger of files {LEDGER_NAME} {way}: nobody can tell which API keys and lines of the"
        " audit log were taken away."
    )


def is_behind(connection: apsw.Connection, ledger: FileLedger) -> bool:
    """Test whether the ledger went on since the database noted its number."""
    try:
        return _read_mark(connection) < ledger.read_number()
    except StoreError:
        return False


def note(connection: apsw.Connection, ledger: FileLedger) -> None:
    """Note the number of the ledger, inside a transaction. A lower one is not taken."""
    number = ledger.read_number(durable=True)
    if number > _read_mark(connection):
        execute(connection, "set_counter", _MARK, number)


def forget(connection: apsw.Connection) -> None:
    """Forget the number: the ledger as it will be is trusted."""
    execute(connection, "set_counter", _MARK, 0)


def open_ledger(path: Path, settings: StoreSettings) -> FileLedger:
    """Open the ledger beside a database file."""
    key_file = find_key_file(settings, path)
    assert key_file is not None
    return FileLedger(path.parent, key_file)


def _read_mark(connection: apsw.Connection) -> int:
    return int(fetch_one(connection, "spent", _MARK)[0])
