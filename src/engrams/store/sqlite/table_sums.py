"""Sums over the rows of all tables: what another program changes beside the memories is noticed.

SQLite tells of each row that a transaction of engrams changes, and the sum of its table changes by
it. So whoever changes, adds or takes away a row with another program leaves a table that does not
have its sum. The sums are sealed, and compared by the doctor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from engrams.store.sql.named_queries import execute, fetch_first, stream_rows
from engrams.store.sql.row_seals import RowSeals, encode_values

_SUM_BYTES = 16
_MODULUS = 1 << 8 * _SUM_BYTES
_RECORDS = "records"
_WHOLE = (
    "counters",
    "edges",
    "history",
    "jobs",
    "lexicon",
    "models",
    "outbox",
    "owner_state",
    "quotes",
    "sessions",
    "topics",
    "vectors",
)
_LATER = ("attachments",)
"""Tables that older files have no sum of: an upgrade sums them."""
_TABLES = (*_WHOLE, _RECORDS, *_LATER)
"""Tables in the order of their sums. What is not there is sealed or checked in another way."""
REPAIRED = frozenset((_RECORDS, "lexicon", "vectors"))
"""Tables that a repair writes: what it writes there is made from the texts."""
_pack = struct.Struct("<7q").pack


def watch_rows(connection: apsw.Connection, seals: RowSeals) -> None:
    """Let each row that a connection changes change the sum of its table in ``seals.changes``."""
    watched = frozenset((*_WHOLE, *_LATER))

    def note(update: Any) -> None:
        table = update.table_name
        if table not in watched or seals.is_blind:
            return
        change = seals.changes.get(table, 0)
        if (old := update.old) is not None:
            change -= _hash_row(seals, table, old)
        if (new := update.new) is not None:
            change += _hash_row(seals, table, new)
        seals.changes[table] = change

    def note_record(*values: Any) -> None:
        sign, *row = values
        if not seals.is_blind:
            change = seals.changes.get(_RECORDS, 0)
            seals.changes[_RECORDS] = change + sign * _hash_record(seals, row)

    connection.preupdate_hook(note)
    # Of a record few columns are summed: its row is longer than those of all other tables.
    connection.create_scalar_function("note_record", note_record)
    for name in ("watch_added", "watch_removed", "watch_changed"):
        execute(connection, name)


def save_changes(connection: apsw.Connection, seals: RowSeals) -> None:
    """Add what a transaction changed to the sums, at its end.

    Sums whose seal does not fit stay as they are: no write makes them look sound.
    """
    if not seals.changes or seals.is_blind:
        return
    sums = _read(connection, seals)
    if sums is None:
        return
    for table, change in seals.changes.items():
        if table in sums:
            sums[table] = (sums[table] + change) % _MODULUS
    seals.changes.clear()
    _save(connection, seals, sums)


def take_sums(connection: apsw.Connection, seals: RowSeals) -> None:
    """Sum all rows anew, and trust them; what the transaction changed before is among them."""
    seals.changes.clear()
    _save(connection, seals, {table: _measure(connection, seals, table) for table in _TABLES})


def take_derived(connection: apsw.Connection, seals: RowSeals) -> None:
    """Sum the rows anew that a repair made from others.

    Sums whose seal does not fit stay as they are.
    """
    sums = _read(connection, seals)
    if sums is None:
        return
    for table in REPAIRED:
        seals.changes.pop(table, None)
        sums[table] = _measure(connection, seals, table)
    _save(connection, seals, sums)


def find_changed_tables(connection: apsw.Connection, seals: RowSeals) -> list[str]:
    """Find the tables whose rows do not have their sum; all where the sums were changed."""
    sums = _read(connection, seals)
    if sums is None:
        return ["table_sums"]
    return [table for table in sums if sums[table] != _measure(connection, seals, table)]


@contextmanager
def carry_over(connection: apsw.Connection, seals: RowSeals) -> Iterator[None]:
    """Sum all rows anew after an upgrade within the block, where they had their sums before it."""
    has_sums = _has_table(connection) and not find_changed_tables(connection, seals)
    yield
    if has_sums:
        with connection:
            take_sums(connection, seals)


def _has_table(connection: apsw.Connection) -> bool:
    return bool(connection.execute("PRAGMA table_info(table_sums)").fetchall())


def _measure(connection: apsw.Connection, seals: RowSeals, table: str) -> int:
    if table == _RECORDS:
        records = stream_rows(connection, "summed_records")
        return sum(_hash_record(seals, row) for row in records) % _MODULUS
    rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name of this module
    return sum(_hash_row(seals, table, row) for row in rows) % _MODULUS


def _hash_record(seals: RowSeals, row: Sequence[Any]) -> int:
    """Hash what no seal of a record holds, by the columns of the query ``summed_records``."""
    record_id, digest, lexemes, *numbers = row
    data = b"".join([_pack(len(digest), len(lexemes), *numbers), digest, lexemes])
    return seals.hash_data(data + record_id.encode())


def _hash_row(seals: RowSeals, table: str, row: Any) -> int:
    """Hash the columns of a row; bytes stand behind the others, which tell their lengths."""
    blobs = [value for value in row if type(value) is bytes]
    if not blobs:
        return seals.hash_data(encode_values((table, row)).encode())
    values = [[len(value)] if type(value) is bytes else value for value in row]
    return seals.hash_data(b"".join([encode_values((table, values)).encode(), *blobs]))


def _read(connection: apsw.Connection, seals: RowSeals) -> dict[str, int] | None:
    """Read the sums that were saved last; None: another program changed them."""
    row = fetch_first(connection, "read_sums")
    if row is None or row[1] != seals.seal_values("tables", row[0].hex()):
        return None
    pieces = (row[0][start : start + _SUM_BYTES] for start in range(0, len(row[0]), _SUM_BYTES))
    # Before an upgrade the later tables have none.
    return dict(zip(_TABLES, (int.from_bytes(piece, "big") for piece in pieces), strict=False))


def _save(connection: apsw.Connection, seals: RowSeals, sums: Mapping[str, int]) -> None:
    data = b"".join(value.to_bytes(_SUM_BYTES, "big") for value in sums.values())
    execute(connection, "save_sums", data, seals.seal_values("tables", data.hex()))
