"""Records, their history, vectors and statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engrams.errors import InputError
from engrams.ports import OutboxEntry, Reach
from engrams.store.sqlite import filters
from engrams.store.sqlite.filters import SqlClause
from engrams.store.sqlite.rows import decode_json, decode_record, to_datetime, to_history_value
from engrams.store.sqlite.sql import execute, fetch_all, fetch_composed, fetch_first, fetch_one, query
from engrams.types import HistoryEntry, Record, Scope, Status, Vector

if TYPE_CHECKING:
    from engrams.ports.search import Floats


_BY_IDS = " WHERE id IN (SELECT value FROM json_each(?)) AND owner = ?"
_FIRST_FIELDS = ("text", "kind", "status")


def get_records(connection: apsw.Connection, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
    """Existing records in the order of ``ids``; purged ones as tombstones."""
    rows = fetch_composed(connection, query("select_records") + _BY_IDS, (json.dumps(list(ids), ensure_ascii=False), owner.key))
    found = {record.id: record for record in map(decode_record, rows)}
    return tuple(found[name] for name in ids if name in found)


def read_history(connection: apsw.Connection, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
    """History of a record, oldest first.

    The first entry holds the text, kind and status that the record began with.
    """
    row = fetch_first(connection, "number_of", id, owner.key)
    if row is None:
        return ()
    entries = [_decode_entry(id, item) for item in fetch_all(connection, "history", row[0])]
    if entries and row[1] != Status.PURGED and not entries[0].before:
        record = get_records(connection, owner, [id])[0]
        entries[0] = HistoryEntry(
            record=id,
            version=entries[0].version,
            at=entries[0].at,
            action=entries[0].action,
            actor=entries[0].actor,
            reason=entries[0].reason,
            before={},
            after={name: _first_value(name, record, entries[1:]) for name in _FIRST_FIELDS},
        )
    return tuple(entries)


def _first_value(name: str, record: Record, later: Sequence[HistoryEntry]) -> Any:
    """First value of a field, from its first change or the record."""
    for entry in later:
        if name in entry.before:
            return entry.before[name]
    return to_history_value(name, getattr(record, name))


def _decode_entry(id: str, row: tuple[Any, ...]) -> HistoryEntry:
    version, at, action, actor, reason, before, after = row
    return HistoryEntry(id, version, to_datetime(at), action, actor, reason, decode_json(before or "{}"), decode_json(after or "{}"))


def find_unembedded(connection: apsw.Connection, model: str, after: str, limit: int) -> tuple[Record, ...]:
    """Active records of all owners without a vector of ``model``, by id."""
    rows = fetch_composed(connection, f"{query('select_records')} {query('missing_tail')}", (after, model, limit))
    return tuple(decode_record(row) for row in rows)


def list_scopes(connection: apsw.Connection, owner: Scope | None) -> tuple[Scope, ...]:
    """Scopes that hold records."""
    rows = fetch_all(connection, "every_scope") if owner is None else fetch_all(connection, "scopes_of", owner.key)
    return tuple(Scope.parse(key) for (key,) in rows)


def count_speakers(connection: apsw.Connection, seen: Reach) -> Mapping[str, int]:
    """Speakers of active records in reach, most frequent first."""
    within = filters.reach_clause(seen)
    text = f"{query('tally_speakers')} AND {within.text} GROUP BY speaker ORDER BY 2 DESC, 1"
    return dict(fetch_composed(connection, text, (seen.owner.key, *within.values)))


def count_records(connection: apsw.Connection, seen: Reach | None) -> Mapping[str, Mapping[str, int]]:
    """Counts of records by several axes.

    By status; those not purged by kind, layer and tier; active ones by tier and layer; vectors by model.
    """
    within = SqlClause("1") if seen is None else filters.reach_clause(seen)
    found: dict[str, dict[str, int]] = {"status": {}, "kind": {}, "layer": {}, "tier": {}, "active": {}, "active_layers": {}, "model": {}}
    text = f"{query('tally_kinds')} WHERE {within.text} GROUP BY status, kind, layer, tier"
    for status, *axes, total in fetch_composed(connection, text, within.values):
        _add_count(found["status"], status, total)
        if status != Status.PURGED:
            for axis, name in zip(("kind", "layer", "tier"), axes, strict=True):
                _add_count(found[axis], name, total)
        if status == Status.ACTIVE:
            _add_count(found["active"], axes[-1], total)
            _add_count(found["active_layers"], axes[1], total)
    if seen is None:
        found["model"] = dict(fetch_all(connection, "count_vectors"))
    else:
        text = f"{query('count_reached_vectors')} AND {within.text} GROUP BY models.name"
        found["model"] = dict(fetch_composed(connection, text, within.values))
    return found


def _add_count(table: dict[str, int], name: str, total: int) -> None:
    table[name] = table.get(name, 0) + total


def read_outbox(connection: apsw.Connection, limit: int) -> tuple[OutboxEntry, ...]:
    return tuple(
        OutboxEntry(number, topic, Scope.parse(owner), record, decode_json(payload))
        for number, topic, owner, record, payload in fetch_all(connection, "outbox", limit)
    )


def save_vector(connection: apsw.Connection, number: int, vector: Vector) -> None:
    """Add or replace a vector; InputError for a wrong size."""
    if vector.dimension < 1 or len(vector.data) != 4 * vector.dimension:
        raise InputError(f"A vector of {vector.dimension} dimensions has {4 * vector.dimension} bytes, not {len(vector.data)}.")
    found = fetch_first(connection, "find_model", vector.model)
    model, dimension = found or fetch_one(connection, "add_model", vector.model, vector.dimension)
    if dimension != vector.dimension:
        raise InputError(
            f"Vectors of {vector.model!r} have {dimension} dimensions here, not {vector.dimension}.",
            hint="A model that changed needs another name.",
        )
    execute(connection, "add_vector", number, model, vector.data)


def find_model(connection: apsw.Connection, name: str) -> tuple[int, int]:
    """Number and dimension of a model; zeros if unknown."""
    found = fetch_first(connection, "find_model", name)
    return (found[0], found[1]) if found else (0, 0)


def fetch_vectors(connection: apsw.Connection, owner: Scope, ids: Sequence[str], model: str) -> Floats:
    """Fetch unit vectors [len(ids), dimension]; zeros for missing ones."""
    import numpy as np

    number, dimension = find_model(connection, model)
    result = np.zeros((len(ids), dimension), np.float32)
    rows = dict(fetch_all(connection, "get_vectors", json.dumps(list(ids), ensure_ascii=False), owner.key, number))
    for place, name in enumerate(ids):
        if name in rows:
            result[place] = np.frombuffer(rows[name], np.float32)
    return result
