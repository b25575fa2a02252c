"""Lists of records in pages."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import apsw

from engrams.errors import InputError
from engrams.ports import Condition, Page, Query, Slot, Where
from engrams.store.sqlite import filters
from engrams.store.sqlite.filters import SqlClause, join_clauses
from engrams.store.sqlite.rows import decode_record
from engrams.store.sqlite.sql import fetch_first, query
from engrams.text.normalize import fold
from engrams.types import Kind, Status

_DIRECTION = {"newest": ("<", "DESC"), "oldest": (">", "ASC")}
_BELIEVED_ORDER = (
    "CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END, "
    "confidence * trust DESC, strength DESC, recorded_at, number"
)


def find_page(connection: apsw.Connection, asked: Query, now: datetime) -> Page:
    """Find one page; an unknown cursor finds nothing."""
    found = build_statement(connection, asked, now)
    if found is None:
        return Page(())
    rows = connection.execute(found.text, found.values).fetchall()
    records = tuple(decode_record(row) for row in rows[: asked.limit])
    return Page(records, records[-1].id if len(rows) > asked.limit else "")


def find_slots(connection: apsw.Connection, asked: Query, now: datetime) -> tuple[Slot, ...]:
    """Find the slots of a page."""
    found = build_statement(connection, asked, now, "select_slots")
    rows: list[tuple[Any, ...]] = [] if found is None else connection.execute(found.text, found.values).fetchall()
    return tuple(Slot(*row) for row in rows[: asked.limit])


def build_statement(connection: apsw.Connection, asked: Query, now: datetime, columns: str = "select_records") -> SqlClause | None:
    """Build the whole statement; None if nothing can match."""
    if asked.limit < 1:
        raise InputError("The limit of a list is at least 1.")
    sign, direction = _DIRECTION.get(asked.order, ("", ""))
    after = SqlClause()
    if asked.after:
        if not sign:
            raise InputError("A list in the order of belief has one page.", hint="Ask for a larger limit, or for newest or oldest.")
        row = fetch_first(connection, "place_of", asked.after, asked.reach.owner.key)
        if row is None:
            return None
        after = SqlClause(f"(recorded_at, number) {sign} (?, ?)", row)
    conditions = join_clauses(
        [
            filters.reach_clause(asked.reach),
            *_axis_clauses(asked, now),
            *_key_clauses(asked),
            filters.where_clause(asked.where),
            _text_clause(asked),
            after,
        ]
    )
    # A plus keeps SQLite from walking everything in order where a key finds the few matches.
    plus = "+" if _is_selective(asked) else ""
    order = f"{plus}recorded_at {direction}, {plus}number {direction}" if sign else _BELIEVED_ORDER
    index = " INDEXED BY records_id" if _is_by_id(asked.where) else " INDEXED BY records_believed" if _uses_believed_index(asked) else ""
    text = f"{query(columns)}{index} WHERE {conditions.text} ORDER BY {order} LIMIT ?"
    return SqlClause(text, (*conditions.values, asked.limit + 1))


def _is_selective(asked: Query) -> bool:
    kinds = len(asked.kinds) > 1 and Kind.TURN not in asked.kinds
    return bool(asked.subject or asked.predicates or asked.hash or asked.external_id or asked.sources or kinds)


def _uses_believed_index(asked: Query) -> bool:
    """Test whether the index of belief covers the query: active statements."""
    active = asked.as_of is None and asked.statuses == (Status.ACTIVE,)
    return asked.order == "believed" and active and bool(asked.kinds) and Kind.TURN not in asked.kinds


def _is_by_id(where: Where | None) -> bool:
    """Test for a filter on an id or a range of ids."""
    parts = where.parts if where is not None and where.op == "and" else ()
    return any(isinstance(part, Condition) and part.field == "id" and part.op in ("eq", "gt", "gte", "lt", "lte") for part in parts)


def _axis_clauses(asked: Query, now: datetime) -> list[SqlClause]:
    """Clauses for status, time and kind."""
    parts = []
    if asked.as_of is not None:
        parts.append(filters.as_of_clause(asked.as_of, now))
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


def _key_clauses(asked: Query) -> list[SqlClause]:
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
        parts.append(SqlClause(query("about_names"), (json.dumps(list(asked.about), ensure_ascii=False),)))
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
        return SqlClause("0")


def _one_of(column: str, values: list[str]) -> SqlClause:
    return SqlClause(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def _text_clause(asked: Query) -> SqlClause:
    if not asked.text:
        return SqlClause()
    return SqlClause("instr(fold(text || ' ' || caption), ?) > 0", (fold(asked.text),))
