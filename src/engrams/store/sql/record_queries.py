"""Records by id, their changes and history, and the outbox of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engrams.core import HistoryEntry, Record, Scope, Status
from engrams.ports import ChangedRecords, OutboxEntry
from engrams.store.sql.named_queries import (
    SqlConnection,
    fetch_all,
    fetch_composed,
    fetch_first,
    query,
)
from engrams.store.sql.row_conversion import (
    FIELDS,
    decode_json,
    to_datetime,
    to_history_value,
)
from engrams.store.sql.row_seals import READ_COLUMNS, RowSeals

_FIRST_FIELDS = ("text", "kind", "status")
"""Fields whose first values the first entry of a history tells."""


class StoredRecord(NamedTuple):
    """Record as its row holds it."""

    number: int
    record: Record
    columns: tuple[Any, ...]
    """Columns of ``FIELDS``, encoded."""
    seal: bytes


def get_records(
    connection: SqlConnection, seals: RowSeals, owner: Scope, record_ids: Sequence[str]
) -> tuple[Record, ...]:
    """Get existing records in the order of their ids; purged ones as tombstones."""
    statement = build_selection("records_of_ids")
    rows = fetch_composed(connection, statement, (_to_json_list(record_ids), owner.key))
    records = {record.id: record for record in seals.read_all(rows)}
    return tuple(records[record_id] for record_id in record_ids if record_id in records)


def get_numbered(
    connection: SqlConnection, seals: RowSeals, owner: Scope, record_ids: Sequence[str]
) -> list[StoredRecord]:
    """Get records that are not purged, with their numbers.

    Altered ones are left out: no change may make them look sound.
    """
    statement = build_selection("records_of_ids", "number", *READ_COLUMNS)
    rows = fetch_composed(connection, statement, (_to_json_list(record_ids), owner.key))
    stored = [
        StoredRecord(row[0], record, row[1 : 1 + len(FIELDS)], bytes(row[-1]))
        for row, record in seals.read_keyed((row, row[1:]) for row in rows)
    ]
    return [item for item in stored if item.record.status is not Status.PURGED]


def build_selection(name: str, *columns: str) -> str:
    """Build the statement for the records that a named query finds.

    ``columns``: those of ``READ_COLUMNS``, if none are named.
    """
    return f"SELECT {', '.join(columns or READ_COLUMNS)} FROM ({query(name)}) AS found"  # noqa: S608 - column names come from the fields of Record


def _to_json_list(record_ids: Sequence[str]) -> str:
    return json.dumps(list(record_ids), ensure_ascii=False)


def find_changed(
    connection: SqlConnection, seals: RowSeals, owner: Scope, last_change: int, limit: int
) -> ChangedRecords:
    """Find records that changed after a change, in the order of their changes."""
    rows = fetch_all(connection, "changed_ids", owner.key, last_change, limit)
    records = get_records(connection, seals, owner, [record_id for record_id, _ in rows])
    return ChangedRecords(records, rows[-1][1] if rows else last_change)


def find_change(connection: SqlConnection, owner: Scope, count: int) -> int:
    """Find the number of the change after which ``count`` records changed; 0: fewer did."""
    row = fetch_first(connection, "change_back", owner.key, count)
    return row[0] if row else 0


def read_history(
    connection: SqlConnection, seals: RowSeals, owner: Scope, record_id: str
) -> tuple[HistoryEntry, ...]:
    """Read the history of a record, oldest first.

    The first entry holds the text, kind and status that the record began with.
    """
    row = fetch_first(connection, "number_of", record_id, owner.key)
    if row is None:
        return ()
    number, status = row
    entries = [
        _decode_entry(record_id, entry_row)
        for entry_row in fetch_all(connection, "history", number)
    ]
    if entries and status != Status.PURGED and not entries[0].before:
        (record,) = get_records(connection, seals, owner, [record_id]) or (
            _restore_record(connection, seals, owner, record_id),
        )
        if record is None:
            return tuple(entries)
        first_values = {name: _first_value(name, record, entries[1:]) for name in _FIRST_FIELDS}
        entries[0] = replace(entries[0], before={}, after=first_values)
    return tuple(entries)


def _restore_record(
    connection: SqlConnection, seals: RowSeals, owner: Scope, record_id: str
) -> Record | None:
    """Read an altered record as its seal proves that it was; None: the seal proves nothing."""
    rows = fetch_composed(
        connection, build_selection("records_of_ids"), (_to_json_list([record_id]), owner.key)
    )
    sealed_row = seals.restore(tuple(rows[0])) if rows else None
    return None if sealed_row is None else seals.read_new(sealed_row)


def _first_value(name: str, record: Record, later_entries: Sequence[HistoryEntry]) -> Any:
    """First value of a field, from its first change or the record."""
    for entry in later_entries:
        if name in entry.before:
            return entry.before[name]
    return to_history_value(name, getattr(record, name))


def _decode_entry(record_id: str, row: tuple[Any, ...]) -> HistoryEntry:
    version, at, action, actor, reason, before, after = row
    return HistoryEntry(
        record=record_id,
        version=version,
        at=to_datetime(at),
        action=action,
        actor=actor,
        reason=reason,
        before=decode_json(before or "{}"),
        after=decode_json(after or "{}"),
    )


def find_unembedded(
    connection: SqlConnection, seals: RowSeals, model: str, last_id: str, limit: int
) -> tuple[Record, ...]:
    """Find active records of all owners without a vector of ``model``, by id after ``last_id``."""
    statement = f"{query('select_records')} {query('missing_tail')}"
    rows = fetch_composed(connection, statement, (last_id, model, limit))
    return tuple(seals.read_all(rows))


def read_outbox(connection: SqlConnection, limit: int) -> tuple[OutboxEntry, ...]:
    """Read the oldest changes of files that are still to be made."""
    return tuple(
        OutboxEntry(
            id=number,
            topic=topic,
            owner=Scope.parse(owner),
            record=record_id,
            payload=decode_json(payload),
        )
        for number, topic, owner, record_id, payload in fetch_all(connection, "outbox", limit)
    )
