"""Lists of records: one statement for all filters, orders and pages of a ``RecordQuery``.

Enter at ``find_page``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from engrams.core import Kind, Status
from engrams.errors import InputError
from engrams.frozen_data import replace
from engrams.ports import Condition, FactSlot, RecordPage, RecordQuery, Where
from engrams.store.sql import where_clauses
from engrams.store.sql.named_queries import SqlConnection, fetch_composed, fetch_first, query
from engrams.store.sql.row_conversion import encode_json
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.where_clauses import SqlClause, join_clauses
from engrams.text.normalize import fold

_MAX_TEXTS = 100
_MOST_COUNTED = 10**9
_DIRECTIONS = {"newest": ("<", "DESC"), "oldest": (">", "ASC")}
"""Comparison of a page with the one before, and direction, by order."""
_BELIEVED_ORDER = (
    "CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END, "
    "confidence * trust DESC, strength DESC, recorded_at, number"
)
"""Order of the index ``records_believed``, word by word."""
_ID_COMPARISONS = ("eq", "gt", "gte", "lt", "lte")


def find_page(
    connection: SqlConnection, seals: RowSeals, record_query: RecordQuery, now: datetime
) -> RecordPage:
    """Find one page; an unknown cursor finds nothing."""
    statement = build_statement(connection, record_query, now)
    if statement is None:
        return RecordPage(())
    rows = fetch_composed(connection, statement.text, statement.values)
    listed = rows[: record_query.limit]
    has_more = len(rows) > record_query.limit
    return RecordPage(tuple(seals.read_all(listed)), listed[-1][0] if has_more else "")


def find_marks(
    connection: SqlConnection, record_query: RecordQuery, now: datetime
) -> list[tuple[Any, ...]]:
    """Find the ids of a page and one more, each with what tells that its row changed."""
    statement = build_statement(connection, record_query, now, "select_marks")
    return [] if statement is None else fetch_composed(connection, statement.text, statement.values)


def find_slots(
    connection: SqlConnection, record_query: RecordQuery, now: datetime
) -> tuple[FactSlot, ...]:
    """Find the slots of the statements of a page."""
    statement = build_statement(connection, record_query, now, "select_slots")
    if statement is None:
        return ()
    rows = fetch_composed(connection, statement.text, statement.values)
    return tuple(FactSlot(*row) for row in rows[: record_query.limit])


def count_records(connection: SqlConnection, record_query: RecordQuery, now: datetime) -> int:
    """Count the records of all pages."""
    everything = replace(record_query, after="", limit=_MOST_COUNTED)
    statement = build_statement(connection, everything, now, "select_slots")
    if statement is None:
        return 0
    counting = f"{query('count_matching')} ({statement.text}) AS matching"
    (row,) = fetch_composed(connection, counting, statement.values)
    return int(row[0])


def build_statement(
    connection: SqlConnection,
    record_query: RecordQuery,
    now: datetime,
    columns: str = "select_records",
) -> SqlClause | None:
    """Build the whole statement for a page and one record more; None if nothing can match.

    ``columns``: name of the query that selects them.
    """
    if record_query.limit < 1:
        raise InputError("The limit of a list must be at least 1.")
    comparison, direction = _DIRECTIONS.get(record_query.order, ("", ""))
    after = SqlClause()
    if record_query.after:
        if not comparison:
            raise InputError(
                "A list in the order of belief has one page.",
                hint="Ask for a larger limit, or for newest or oldest.",
            )
        owner_key = record_query.reach.owner.key
        cursor = fetch_first(connection, "place_of", record_query.after, owner_key)
        if cursor is None:
            return None
        after = SqlClause(f"(recorded_at, number) {comparison} (?, ?)", cursor)
    conditions = join_clauses(
        [
            where_clauses.reach_clause(record_query.reach),
            *_axis_clauses(record_query, now),
            *_key_clauses(record_query),
            where_clauses.where_clause(record_query.where),
            _text_clause(record_query),
            _saying_clause(record_query),
            after,
        ]
    )
    if comparison:
        # A plus keeps SQLite from walking everything in order where a key finds the few matches.
        plus = "+" if _is_selective(record_query) else ""
        order = f"{plus}recorded_at {direction}, {plus}number {direction}"
    else:
        order = _BELIEVED_ORDER
    index = _choose_index(record_query)
    statement = f"{query(columns)}{index} WHERE {conditions.text} ORDER BY {order} LIMIT ?"
    return SqlClause(statement, (*conditions.values, record_query.limit + 1))


# --------------------------------------------------------------------------------------------------
# indexes


def _choose_index(record_query: RecordQuery) -> str:
    """Name the index that SQLite would not choose by itself; empty: it chooses."""
    if _is_by_id(record_query.where):
        return " INDEXED BY records_id"
    if record_query.sources:
        # By their numbers: else SQLite walks all records of a kind to find the few.
        return " NOT INDEXED"
    if record_query.hashes:
        # A kind is a key of its own: else SQLite reads all records of the kind.
        return " INDEXED BY records_hash"
    if _uses_believed_index(record_query):
        return " INDEXED BY records_believed"
    return ""


def _is_selective(record_query: RecordQuery) -> bool:
    """True if a key of the query finds few records."""
    has_few_kinds = len(record_query.kinds) > 1 and Kind.TURN not in record_query.kinds
    return bool(
        record_query.subject
        or record_query.predicates
        or record_query.hashes
        or record_query.external_id
        or record_query.sources
        or has_few_kinds
    )


def _uses_believed_index(record_query: RecordQuery) -> bool:
    """Test whether the index of belief covers the query: active statements."""
    return (
        record_query.order == "believed"
        and record_query.as_of is None
        and record_query.statuses == (Status.ACTIVE,)
        and bool(record_query.kinds)
        and Kind.TURN not in record_query.kinds
    )


def _is_by_id(where: Where | None) -> bool:
    conditions = where.parts if where is not None and where.op == "and" else ()
    return any(
        isinstance(condition, Condition)
        and condition.field == "id"
        and condition.op in _ID_COMPARISONS
        for condition in conditions
    )


# --------------------------------------------------------------------------------------------------
# conditions


def _axis_clauses(record_query: RecordQuery, now: datetime) -> list[SqlClause]:
    """Restrict to statuses, or to a point in time, and to kinds."""
    clauses = []
    if record_query.as_of is not None:
        clauses.append(where_clauses.as_of_clause(record_query.as_of, now))
    elif _uses_believed_index(record_query):
        # The condition of the index, as a literal.
        clauses.append(SqlClause("status = 'active'"))
    elif record_query.statuses:
        clauses.append(_one_of("status", [str(status) for status in record_query.statuses]))
    else:
        clauses.append(SqlClause("status <> ?", (str(Status.PURGED),)))
    if record_query.kinds:
        clauses.append(_one_of("kind", [str(kind) for kind in record_query.kinds]))
        if Kind.TURN not in record_query.kinds:
            # Condition of the index of kinds, which leaves turns out.
            clauses.append(SqlClause("kind <> 'turn'"))
    return clauses


def _key_clauses(record_query: RecordQuery) -> list[SqlClause]:
    """Restrict to indexed values; literals repeat the conditions of partial indexes."""
    clauses = []
    if record_query.session:
        clauses.append(SqlClause("session = ? AND session <> ''", (record_query.session,)))
    if record_query.subject:
        clauses.append(SqlClause("subject = ? AND subject <> ''", (record_query.subject,)))
    if record_query.predicates:
        clauses.append(_one_of("predicate", list(record_query.predicates)))
        clauses.append(SqlClause("predicate <> ''"))
    if record_query.about:
        names = json.dumps(list(record_query.about), ensure_ascii=False)
        clauses.append(SqlClause(query("about_names"), (names,)))
    if record_query.hashes:
        clauses.append(_hash_clause(record_query.hashes))
    if record_query.external_id:
        condition = "external_id = ? AND external_id <> ''"
        clauses.append(SqlClause(condition, (record_query.external_id,)))
    if record_query.prefix:
        prefix = record_query.prefix
        clauses.append(SqlClause("id >= ? AND id < ?", (prefix, prefix + "\U0010ffff")))
    if record_query.sources:
        sources = json.dumps(list(record_query.sources), ensure_ascii=False)
        parameters = (record_query.reach.owner.key, sources)
        clauses.append(SqlClause(query("quoting_numbers"), parameters))
    return clauses


def _hash_clause(digests: Sequence[str]) -> SqlClause:
    try:
        return _one_of("hash", list(map(bytes.fromhex, digests)))
    except ValueError:
        return SqlClause("FALSE")


def _one_of(column: str, values: Sequence[Any]) -> SqlClause:
    return SqlClause(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def _text_clause(record_query: RecordQuery) -> SqlClause:
    """Restrict to texts that hold a word or words, whatever their case and accents."""
    if not record_query.text:
        return SqlClause()
    return SqlClause(query("folded_text"), (fold(record_query.text),))


def _saying_clause(record_query: RecordQuery) -> SqlClause:
    """Restrict to exact texts, in lists and history as JSON spells them."""
    if len(record_query.saying) > _MAX_TEXTS:
        raise InputError(
            f"A list looks for at most {_MAX_TEXTS} texts, not {len(record_query.saying)}.",
            hint="Ask several times.",
        )
    clauses = []
    for text in record_query.saying:
        in_json = encode_json(text)[1:-1]
        clauses.append(SqlClause(query("saying"), (text, text, text, in_json, in_json)))
        if record_query.formerly:
            clauses.append(SqlClause(query("saying_formerly"), (in_json, in_json)))
    return join_clauses(clauses, "OR")
