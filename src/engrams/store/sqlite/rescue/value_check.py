"""Values that columns may hold: SQL that finds others, and defaults in their place.

SQLite checks the types of columns and not their meaning: after damage a kind may be no kind, a time
be beyond all years, JSON be none. Nothing is guessed from what is left of such a value. It gets a
default that loses no text and recalls nothing by mistake, or its row is left out; both are told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import apsw

from engrams.core import EdgeType
from engrams.errors import StoreError
from engrams.store.sql.named_queries import stream_rows
from engrams.store.sql.row_conversion import (
    ENUMS,
    FIELDS,
    JSONS,
    LISTS,
    REALS,
    TIMES,
    decode_record,
)

_TABLES = ("records", "history", "edges", "topics", "jobs", "sessions", "owner_state", "outbox")
WORDS: Mapping[str, Mapping[str, Iterable[str]]] = {
    "records": ENUMS,
    "edges": {"type": EdgeType},
    "jobs": {"state": ("waiting", "running", "dead", "done")},
    "sessions": {"state": ("active", "closing", "closed")},
}
"""Words that a column may hold, by table."""
_DEFAULT_WORDS: Mapping[str, Mapping[str, str]] = {
    # Kept and listed, but not recalled: it may have been forgotten.
    "records": {"kind": "note", "layer": "semantic", "tier": "longterm", "status": "archived"},
    # Every job may run twice, and every session may end twice.
    "jobs": {"state": "waiting"},
    "sessions": {"state": "active"},
}
"""Words in place of unreadable ones; a row whose column is not here is left out."""
_TIMES: Mapping[str, tuple[str, ...]] = {
    "records": TIMES,
    "history": ("at",),
    "topics": ("at",),
    "jobs": ("due", "lease_until", "created_at", "updated_at"),
    "sessions": ("started_at", "last_active"),
}
_OPTIONAL_TIMES = frozenset((*TIMES, "lease_until")) - {"recorded_at"}
_NUMBERS: Mapping[str, tuple[str, ...]] = {"records": REALS, "edges": ("weight",)}
_JSON: Mapping[str, Mapping[str, str | None]] = {
    "records": {
        **dict.fromkeys((*LISTS, *JSONS), "{}"),
        **dict.fromkeys((*LISTS, "evidence"), "[]"),
    },
    "history": {"before": None, "after": None},
    "sessions": {"data": "{}"},
    "outbox": {"payload": "{}"},
    "jobs": {"payload": ""},
    "owner_state": {"data": ""},
}
"""Defaults of JSON, by table and column; empty: there is none, and the row is left out."""
EMPTY_JSON = {name: empty or "" for name, empty in _JSON["records"].items()}
"""JSON of a record that has none, by column."""
_EARLIEST = -62_135_596_800_000_000
_LATEST = 253_402_300_799_999_999
"""Microseconds since 1970 of the years 1 and 9999."""
_LARGEST = 1e9
_DEFAULT_NUMBER = 0.5
"""Importance, confidence, trust or weight of which no more is known: the middle of 0 to 1."""


def find_invalid(connection: apsw.Connection) -> list[str]:
    """Find columns with values that nobody writes; one scan for each table.

    UnicodeDecodeError: a text is no UTF-8.
    """
    problems = []
    for table in _TABLES:
        conditions = dict(_list_conditions(table))
        sums = ", ".join(f"sum({condition})" for condition in conditions.values())
        # Our own tables and columns. Reading every row finds texts that are no UTF-8.
        for _ in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
            pass
        counts: Any = connection.execute(f"SELECT {sums} FROM {table}").fetchall()[0]  # noqa: S608
        problems += [
            f"{table} holds {count:,} × a {column} that is none."
            for column, count in zip(conditions, counts, strict=True)
            if count
        ]
    return problems or _find_undecodable(connection)


def _list_conditions(table: str) -> Iterable[tuple[str, str]]:
    """Yield columns with SQL conditions that are true for unreadable values."""
    for column, words in WORDS.get(table, {}).items():
        yield column, f"{column} NOT IN ({', '.join(repr(str(word)) for word in words)})"
    for column in _TIMES.get(table, ()):
        yield column, f"{column} NOT BETWEEN {_EARLIEST} AND {_LATEST}"
    for column in _NUMBERS.get(table, ()):
        yield column, f"abs({column}) > {_LARGEST}"
    for column in _JSON.get(table, ()):
        yield column, f"NOT json_valid({column})"


def _find_undecodable(connection: apsw.Connection) -> list[str]:
    """Find the first record that cannot be decoded, as one whose JSON has a changed key."""
    try:
        for row in stream_rows(connection, "select_records"):
            decode_record(row[: len(FIELDS)])
    except StoreError as problem:
        return [problem.message]
    return []


def replace_unreadable(
    table: str, columns: tuple[str, ...], row: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Return a row with defaults in place of unreadable values.

    None: the row is of no use without them.
    """
    values = dict(zip(columns, row, strict=True))
    for column, words in WORDS.get(table, {}).items():
        if values[column] in map(str, words):
            continue
        if column not in _DEFAULT_WORDS.get(table, {}):
            return None
        values[column] = _DEFAULT_WORDS[table][column]
    # In reverse: when a record is valid from is settled before when it was recorded.
    for column in reversed(_TIMES.get(table, ())):
        if values[column] is None or _EARLIEST <= values[column] <= _LATEST:
            continue
        if column == "recorded_at":
            values[column] = values.get("valid_from") or 0
        else:
            values[column] = None if column in _OPTIONAL_TIMES else 0
    for column in _NUMBERS.get(table, ()):
        if not math.isfinite(values[column]) or abs(values[column]) > _LARGEST:
            values[column] = _DEFAULT_NUMBER
    for column, empty in _JSON.get(table, {}).items():
        if values[column] is None or _is_json(values[column]):
            continue
        if empty == "":
            return None
        values[column] = empty
    return tuple(values.values())


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    """Refuse NaN and Infinity in JSON, which SQLite cannot read."""
    raise ValueError(word)
