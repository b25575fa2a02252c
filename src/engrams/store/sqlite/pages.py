"""Lists of records, a page at a time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import apsw

from engrams.errors import InputError
from engrams.ports import Condition, Page, Query, Slot, Where
from engrams.store.sqlite import filters
from engrams.store.sqlite.filters import Clause, joined
from engrams.store.sqlite.rows import decode
from engrams.store.sqlite.sql import first, query
from engrams.text.normalize import fold
from engrams.types import Kind, Status

_DIRECTION = {"newest": ("<", "DESC"), "oldest": (">", "ASC")}
_BELIEVED = (
    "CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END, "
    "confidence * trust DESC, strength DESC, recorded_at, number"
)


def find(connection: apsw.Connection, asked: Query, now: datetime) -> Page:
    """One page. A cursor that names no record of this owner finds nothing."""
    found = statement(connection, asked, now)
    if found is None:
        return Page(())
    rows = connection.execute(found.text, found.values).fetchall()
    records = tuple(decode(row) for row in rows[: asked.limit])
    return Page(records, records[-1].id if len(rows) > asked.limit else "")


def slots(connection: apsw.Connection, asked: Query, now: datetime) -> tuple[Slot, ...]:
    """The slots of a page."""
    found = statement(connection, asked, now, "select_slots")
    rows: list[tuple[Any, ...]] = [] if found is None else connection.execute(found.text, found.values).fetchall()
    return tuple(Slot(*row) for row in rows[: asked.limit])


def statement(connection: apsw.Connection, asked: Query, now: datetime, columns: str = "select_records") -> Clause | None:
    """The whole statement; None where nothing can be found."""
    if asked.limit < 1:
        raise InputError("The limit of a list is at least 1.")
    sign, direction = _DIRECTION.get(asked.order, ("", ""))
    after = Clause()
    if asked.after:
        if not sign:
            raise InputError("A list in the order of belief has one page.", hint="Ask for a larger limit, or for newest or oldest.")
        row = first(connection, "place_of", asked.after, asked.reach.owner.key)
        if row is None:
            return None
        after = Clause(f"(recorded_at, number) {sign} (?, ?)", row)
    conditions = joined([filters.reach(asked.reach), *_axes(asked, now), *_keys(asked), filters.where(asked.where), _text(asked), after])
    # A plus keeps SQLite from walking everything in the order asked for where a key finds the few that can match.
    plus = "+" if _selective(asked) else ""
    order = f"{plus}recorded_at {direction}, {plus}number {direction}" if sign else _BELIEVED
    index = " INDEXED BY records_id" if _by_id(asked.where) else " INDEXED BY records_believed" if _believed(asked) else ""
    text = f"{query(columns)}{index} WHERE {conditions.text} ORDER BY {order} LIMIT ?"
    return Clause(text, (*conditions.values, asked.limit + 1))


def _selective(asked: Query) -> bool:
    kinds = len(asked.kinds) > 1 and Kind.TURN not in asked.kinds
    return bool(asked.subject or asked.predicates or asked.hash or asked.external_id or asked.sources or kinds)


def _believed(asked: Query) -> bool:
    """Whether the index in the order of belief holds what is asked for: active statements."""
    active = asked.as_of is None and asked.statuses == (Status.ACTIVE,)
    return asked.order == "believed" and active and bool(asked.kinds) and Kind.TURN not in asked.kinds


def _by_id(where: Where | None) -> bool:
    """Whether the filter names an id or a range of ids, as the start of an id does."""
    parts = where.parts if where is not None and where.op == "and" else ()
    return any(isinstance(part, Condition) and part.field == "id" and part.op in ("eq", "gt", "gte", "lt", "lte") for part in parts)


def _axes(asked: Query, now: datetime) -> list[Clause]:
    """Status, time and kind."""
    parts = []
    if asked.as_of is not None:
        parts.append(filters.as_of(asked.as_of, now))
    elif _believed(asked):
        parts.append(Clause("status = 'active'"))
    elif asked.statuses:
        parts.append(_one_of("status", [str(status) for status in asked.statuses]))
    else:
        parts.append(Clause("status <> ?", (str(Status.PURGED),)))
    if asked.kinds:
        parts.append(_one_of("kind", [str(kind) for kind in asked.kinds]))
        if Kind.TURN not in asked.kinds:
            # What the index of kinds asks for: turns, by far the most, are not in it.
            parts.append(Clause("kind <> 'turn'"))
    return parts


def _keys(asked: Query) -> list[Clause]:
    """Values that an index knows; the literals are the partial indexes' own conditions."""
    parts = []
    if asked.session:
        parts.append(Clause("session = ? AND session <> ''", (asked.session,)))
    if asked.subject:
        parts.append(Clause("subject = ? AND subject <> ''", (asked.subject,)))
    if asked.predicates:
        parts.append(_one_of("predicate", list(asked.predicates)))
        parts.append(Clause("predicate <> ''"))
    if asked.about:
        parts.append(Clause(query("about_names"), (json.dumps(list(asked.about), ensure_ascii=False),)))
    if asked.hash:
        parts.append(_hash(asked.hash))
    if asked.external_id:
        parts.append(Clause("external_id = ? AND external_id <> ''", (asked.external_id,)))
    if asked.prefix:
        parts.append(Clause("id >= ? AND id < ?", (asked.prefix, asked.prefix + "\U0010ffff")))
    if asked.sources:
        sources = json.dumps(list(asked.sources), ensure_ascii=False)
        parts.append(Clause(query("quoting_numbers"), (asked.reach.owner.key, sources)))
    return parts


def _hash(digest: str) -> Clause:
    try:
        return Clause("hash = ?", (bytes.fromhex(digest),))
    except ValueError:
        return Clause("0")


def _one_of(column: str, values: list[str]) -> Clause:
    return Clause(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def _text(asked: Query) -> Clause:
    if not asked.text:
        return Clause()
    return Clause("instr(fold(text || ' ' || caption), ?) > 0", (fold(asked.text),))
