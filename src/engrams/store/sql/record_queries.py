"""Records, lists of them, their history, vectors and statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engrams.core import HistoryEntry, Kind, Record, Scope, Status, Vector
from engrams.errors import InputError
from engrams.ports import (
    EMBED,
    ChangedRecords,
    Condition,
    FactSlot,
    JobSpec,
    OutboxEntry,
    RecordPage,
    RecordQuery,
    ScopeReach,
    StorageUse,
    Where,
)
from engrams.store.sql import job_queue, where_clauses
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_first,
    fetch_one,
    query,
)
from engrams.store.sql.row_conversion import (
    FIELDS,
    decode_json,
    decode_record,
    encode_json,
    to_datetime,
    to_history_value,
)
from engrams.store.sql.where_clauses import SqlClause, join_clauses
from engrams.text.normalize import fold

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_MOST_TEXTS = 100
_FIRST_FIELDS = ("text", "kind", "status")


_DIRECTION = {"newest": ("<", "DESC"), "oldest": (">", "ASC")}
_BELIEVED_ORDER = (
    "CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END, "
    "confidence * trust DESC, strength DESC, recorded_at, number"
)


def get_records(connection: SqlConnection, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
    """Existing records in the order of ``ids``; purged ones as tombstones."""
    rows = fetch_composed(
        connection,
        build_selection("records_of_ids"),
        (json.dumps(list(ids), ensure_ascii=False), owner.key),
    )
    found = {record.id: record for record in map(decode_record, rows)}
    return tuple(found[name] for name in ids if name in found)


def get_numbered(
    connection: SqlConnection, owner: Scope, ids: Sequence[str]
) -> list[tuple[int, Record]]:
    """Records that are not purged, with their numbers."""
    text = build_selection("records_of_ids", "number", *FIELDS)
    rows = fetch_composed(connection, text, (json.dumps(list(ids), ensure_ascii=False), owner.key))
    found = [(row[0], decode_record(row[1:])) for row in rows]
    return [(number, record) for number, record in found if record.status is not Status.PURGED]


def build_selection(name: str, *columns: str) -> str:
    """Build the statement for the records that a named query finds.

    ``columns``: those of ``FIELDS``, if none are named.
    """
    return f"SELECT {', '.join(columns or FIELDS)} FROM ({query(name)}) AS found"  # noqa: S608 - column names come from the fields of Record


def find_changed(connection: SqlConnection, owner: Scope, after: int, limit: int) -> ChangedRecords:
    """Records that changed after a change, in the order of their changes."""
    rows = fetch_all(connection, "changed_ids", owner.key, after, limit)
    return ChangedRecords(
        get_records(connection, owner, [id for id, _ in rows]), rows[-1][1] if rows else after
    )


def measure_storage(connection: SqlConnection, owner: Scope) -> StorageUse:
    """Memories of an owner that are not purged, and their bytes."""
    return StorageUse(*fetch_one(connection, "storage_use", owner.key))


def find_change(connection: SqlConnection, owner: Scope, back: int) -> int:
    """Number of the change that ``back`` changed records follow, or 0."""
    row = fetch_first(connection, "change_back", owner.key, back)
    return row[0] if row else 0


def read_history(connection: SqlConnection, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
    """History of a record, oldest first.

    The first entry holds the text, kind and status that the record began with.
    """
    row = fetch_first(connection, "number_of", id, owner.key)
    if row is None:
        return ()
    entries = [_decode_entry(id, item) for item in fetch_all(connection, "history", row[0])]
    if entries and row[1] != Status.PURGED and not entries[0].before:
        record = get_records(connection, owner, [id])[0]
        entries[0] = replace(
            entries[0],
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
    return HistoryEntry(
        record=id,
        version=version,
        at=to_datetime(at),
        action=action,
        actor=actor,
        reason=reason,
        before=decode_json(before or "{}"),
        after=decode_json(after or "{}"),
    )


def find_unembedded(
    connection: SqlConnection, model: str, after: str, limit: int
) -> tuple[Record, ...]:
    """Active records of all owners without a vector of ``model``, by id."""
    rows = fetch_composed(
        connection, f"{query('select_records')} {query('missing_tail')}", (after, model, limit)
    )
    return tuple(decode_record(row) for row in rows)


def list_scopes(connection: SqlConnection, owner: Scope | None) -> tuple[Scope, ...]:
    """Scopes that hold records."""
    if owner is not None:
        return tuple(count_scopes(connection, owner))
    return tuple(Scope.parse(key) for (key,) in fetch_all(connection, "every_scope"))


def count_scopes(connection: SqlConnection, owner: Scope) -> dict[Scope, int]:
    """Active records of each of the owner's scopes that hold records."""
    return {
        Scope.parse(key): number for key, number in fetch_all(connection, "scopes_of", owner.key)
    }


def build_speakers(seen: ScopeReach) -> tuple[str, tuple[Any, ...]]:
    """Build the statement for speakers of active records, most frequent first."""
    within = where_clauses.reach_clause(seen)
    return f"{query('tally_speakers')} AND {within.text} GROUP BY speaker ORDER BY 2 DESC, 1", (
        seen.owner.key,
        *within.values,
    )


def find_speakers(connection: SqlConnection, seen: ScopeReach) -> list[tuple[Any, ...]]:
    """Find the speakers of active records, most frequent first."""
    return fetch_composed(connection, *build_speakers(seen))


def count_records(
    connection: SqlConnection, seen: ScopeReach | None
) -> Mapping[str, Mapping[str, int]]:
    """Counts of records by several axes.

    By status; those not purged by kind, layer and tier; active ones by tier and layer; vectors by
    model.
    """
    within = SqlClause("TRUE") if seen is None else where_clauses.reach_clause(seen)
    found: dict[str, dict[str, int]] = {
        "status": {},
        "kind": {},
        "layer": {},
        "tier": {},
        "active": {},
        "active_layers": {},
        "model": {},
    }
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
    elif seen.tree and seen.owner in seen.scopes:
        # What was purged has no vector, so nobody need look at the records.
        found["model"] = dict(fetch_all(connection, "count_owner_vectors", seen.owner.key))
    else:
        text = f"{query('count_reached_vectors')} AND {within.text} GROUP BY models.name"
        found["model"] = dict(fetch_composed(connection, text, within.values))
    return found


def _add_count(table: dict[str, int], name: str, total: int) -> None:
    table[name] = table.get(name, 0) + total


def read_outbox(connection: SqlConnection, limit: int) -> tuple[OutboxEntry, ...]:
    return tuple(
        OutboxEntry(
            id=number,
            topic=topic,
            owner=Scope.parse(owner),
            record=record,
            payload=decode_json(payload),
        )
        for number, topic, owner, record, payload in fetch_all(connection, "outbox", limit)
    )


def save_vector(connection: SqlConnection, number: int, vector: Vector) -> None:
    """Add or replace a vector; InputError for a wrong size."""
    if vector.dimension < 1 or len(vector.data) != 4 * vector.dimension:
        raise InputError(
            f"A vector of {vector.dimension} dimensions has {4 * vector.dimension} bytes, not"
            f" {len(vector.data)}."
        )
    found = fetch_first(connection, "find_model", vector.model)
    model, dimension = found or fetch_one(connection, "add_model", vector.model, vector.dimension)
    if dimension != vector.dimension:
        raise InputError(
            f"Vectors of {vector.model!r} have {dimension} dimensions here, not"
            f" {vector.dimension}.",
            hint="A model that changed needs another name.",
        )
    execute(connection, "add_vector", number, model, vector.data)


def drop_vectors(
    connection: SqlConnection, model: int, numbers: Sequence[int], at: datetime
) -> None:
    """Remove vectors by their records' numbers; ask for new ones."""
    for number in numbers:
        execute(connection, "drop_vector", number, model)
    for (name,) in fetch_all(connection, "model_name", model):
        job_queue.enqueue(connection, JobSpec(EMBED, name), at)


def find_model(connection: SqlConnection, name: str) -> tuple[int, int]:
    """Number and dimension of a model; zeros if unknown."""
    found = fetch_first(connection, "find_model", name)
    return (found[0], found[1]) if found else (0, 0)


def fetch_vectors(
    connection: SqlConnection, owner: Scope, ids: Sequence[str], model: str
) -> Floats:
    """Fetch unit vectors [len(ids), dimension]; zeros for missing and damaged ones."""
    import numpy as np

    from engrams.index.columns import find_sound

    number, dimension = find_model(connection, model)
    result = np.zeros((len(ids), dimension), np.float32)
    rows = dict(
        fetch_all(
            connection, "get_vectors", json.dumps(list(ids), ensure_ascii=False), owner.key, number
        )
    )
    for place, name in enumerate(ids):
        if name in rows and len(rows[name]) == 4 * dimension:
            result[place] = np.frombuffer(rows[name], np.float32)
    result[~find_sound(result)] = 0
    return result


def find_page(connection: SqlConnection, asked: RecordQuery, now: datetime) -> RecordPage:
    """Find one page; an unknown cursor finds nothing."""
    found = build_statement(connection, asked, now)
    if found is None:
        return RecordPage(())
    rows = fetch_composed(connection, found.text, found.values)
    records = tuple(decode_record(row) for row in rows[: asked.limit])
    return RecordPage(records, records[-1].id if len(rows) > asked.limit else "")


def find_marks(
    connection: SqlConnection, asked: RecordQuery, now: datetime
) -> list[tuple[Any, ...]]:
    """Find the ids of a page and one more.

    Each with what tells that its row changed.
    """
    found = build_statement(connection, asked, now, "select_marks")
    return [] if found is None else fetch_composed(connection, found.text, found.values)


def find_slots(
    connection: SqlConnection, asked: RecordQuery, now: datetime
) -> tuple[FactSlot, ...]:
    """Find the slots of a page."""
    found = build_statement(connection, asked, now, "select_slots")
    rows = [] if found is None else fetch_composed(connection, found.text, found.values)
    return tuple(FactSlot(*row) for row in rows[: asked.limit])


def build_statement(
    connection: SqlConnection, asked: RecordQuery, now: datetime, columns: str = "select_records"
) -> SqlClause | None:
    """Build the whole statement; None if nothing can match."""
    if asked.limit < 1:
        raise InputError("The limit of a list is at least 1.")
    sign, direction = _DIRECTION.get(asked.order, ("", ""))
    after = SqlClause()
    if asked.after:
        if not sign:
            raise InputError(
                "A list in the order of belief has one page.",
                hint="Ask for a larger limit, or for newest or oldest.",
            )
        row = fetch_first(connection, "place_of", asked.after, asked.reach.owner.key)
        if row is None:
            return None
        after = SqlClause(f"(recorded_at, number) {sign} (?, ?)", row)
    conditions = join_clauses(
        [
            where_clauses.reach_clause(asked.reach),
            *_axis_clauses(asked, now),
            *_key_clauses(asked),
            where_clauses.where_clause(asked.where),
            _text_clause(asked),
            _saying_clause(asked),
            after,
        ]
    )
    # A plus keeps SQLite from walking everything in order where a key finds the few matches.
    plus = "+" if _is_selective(asked) else ""
    order = f"{plus}recorded_at {direction}, {plus}number {direction}" if sign else _BELIEVED_ORDER
    if _is_by_id(asked.where):
        index = " INDEXED BY records_id"
    elif _uses_believed_index(asked):
        index = " INDEXED BY records_believed"
    else:
        index = ""
    text = f"{query(columns)}{index} WHERE {conditions.text} ORDER BY {order} LIMIT ?"
    return SqlClause(text, (*conditions.values, asked.limit + 1))


def _is_selective(asked: RecordQuery) -> bool:
    kinds = len(asked.kinds) > 1 and Kind.TURN not in asked.kinds
    return bool(
        asked.subject
        or asked.predicates
        or asked.hash
        or asked.external_id
        or asked.sources
        or kinds
    )


def _uses_believed_index(asked: RecordQuery) -> bool:
    """Test whether the index of belief covers the query: active statements."""
    active = asked.as_of is None and asked.statuses == (Status.ACTIVE,)
    return (
        asked.order == "believed" and active and bool(asked.kinds) and Kind.TURN not in asked.kinds
    )


def _is_by_id(where: Where | None) -> bool:
    parts = where.parts if where is not None and where.op == "and" else ()
    return any(
        isinstance(part, Condition)
        and part.field == "id"
        and part.op in ("eq", "gt", "gte", "lt", "lte")
        for part in parts
    )


def _axis_clauses(asked: RecordQuery, now: datetime) -> list[SqlClause]:
    parts = []
    if asked.as_of is not None:
        parts.append(where_clauses.as_of_clause(asked.as_of, now))
    elif _uses_believed_index(asked):
        parts.append(SqlClause("status = 'active'"))
    elif asked.statuses:
        parts.append(_one_of("status", [str(status) for status in asked.statuses]))
    else:
        parts.append(SqlClause("status <> ?", (str(Status.PURGED),)))
    if asked.kinds:
        parts.append(_one_of("kind", [str(kind) for kind in asked.kinds]))
        if Kind.TURN not in asked.kinds:
            # Condition of the index of kinds, which leaves turns out.
            parts.append(SqlClause("kind <> 'turn'"))
    return parts


def _key_clauses(asked: RecordQuery) -> list[SqlClause]:
    """Clauses for indexed values; literals match partial indexes."""
    parts = []
    if asked.session:
        parts.append(SqlClause("session = ? AND session <> ''", (asked.session,)))
    if asked.subject:
        parts.append(SqlClause("subject = ? AND subject <> ''", (asked.subject,)))
    if asked.predicates:
        parts.append(_one_of("predicate", list(asked.predicates)))
        parts.append(SqlClause("predicate <> ''"))
    if asked.about:
        parts.append(
            SqlClause(query("about_names"), (json.dumps(list(asked.about), ensure_ascii=False),))
        )
    if asked.hash:
        parts.append(_hash_clause(asked.hash))
    if asked.external_id:
        parts.append(SqlClause("external_id = ? AND external_id <> ''", (asked.external_id,)))
    if asked.prefix:
        parts.append(SqlClause("id >= ? AND id < ?", (asked.prefix, asked.prefix + "\U0010ffff")))
    if asked.sources:
        sources = json.dumps(list(asked.sources), ensure_ascii=False)
        parts.append(SqlClause(query("quoting_numbers"), (asked.reach.owner.key, sources)))
    return parts


def _hash_clause(digest: str) -> SqlClause:
    try:
        return SqlClause("hash = ?", (bytes.fromhex(digest),))
    except ValueError:
        return SqlClause("FALSE")


def _one_of(column: str, values: list[str]) -> SqlClause:
    return SqlClause(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def _text_clause(asked: RecordQuery) -> SqlClause:
    if not asked.text:
        return SqlClause()
    return SqlClause(query("folded_text"), (fold(asked.text),))


def _saying_clause(asked: RecordQuery) -> SqlClause:
    """Clause for exact texts, in lists and history as JSON spells them."""
    if len(asked.saying) > _MOST_TEXTS:
        raise InputError(
            f"A list looks for at most {_MOST_TEXTS} texts, not {len(asked.saying)}.",
            hint="Ask several times.",
        )
    parts = []
    for text in asked.saying:
        spelled = encode_json(text)[1:-1]
        parts.append(SqlClause(query("saying"), (text, text, text, spelled, spelled)))
        if asked.formerly:
            parts.append(SqlClause(query("saying_formerly"), (spelled, spelled)))
    return join_clauses(parts, "OR")
