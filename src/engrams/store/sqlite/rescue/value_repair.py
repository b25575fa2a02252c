"""Values that columns may hold; damaged ones are found and mended."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import apsw

from engrams.core import EdgeType
from engrams.errors import StoreError
from engrams.store.sql.named_queries import stream_rows
from engrams.store.sql.row_conversion import ENUMS, JSONS, LISTS, REALS, TIMES, decode_record

_WORDS: Mapping[str, Mapping[str, Iterable[str]]] = {
    "records": ENUMS,
    "edges": {"type": EdgeType},
    "jobs": {"state": ("waiting", "running", "dead", "done")},
    "sessions": {"state": ("active", "closing", "closed")},
}
_TIMES: Mapping[str, tuple[str, ...]] = {
    "records": TIMES,
    "history": ("at",),
    "topics": ("at",),
    "jobs": ("due", "lease_until", "created_at", "updated_at"),
    "sessions": ("started_at", "last_active"),
}
_OPEN = frozenset((*TIMES, "lease_until")) - {"recorded_at"}
"""Times that may be missing."""
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
"""Replacements of damaged JSON, by table and column; empty: there is none, and the row is left out.
"""
EMPTY_JSON = {name: empty or "" for name, empty in _JSON["records"].items()}
"""JSON of a record that has none."""
_TABLES = ("records", "history", "edges", "topics", "jobs", "sessions", "owner_state", "outbox")
_EARLIEST = -62_135_596_800_000_000
_LATEST = 253_402_300_799_999_999
"""Microseconds since 1970 of the years 1 and 9999."""
_LARGEST = 1e9
_DOUBTFUL = {"kind": "note", "layer": "semantic", "tier": "longterm", "status": "archived"}
"""Words of which no more is known: kept, and not recalled."""
_MIDDLE = 0.5
"""Importance, weight … of which no more is known."""


def find_invalid(connection: apsw.Connection) -> list[str]:
    """Find columns with values that nobody writes, in one scan a table.

    UnicodeDecodeError: a text is none.
    """
    found = []
    for table in _TABLES:
        tests = dict(_tests(table))
        sums = ", ".join(f"sum({test})" for test in tests.values())
        # Our own tables and columns. Reading every row finds texts that are no UTF-8.
        for _ in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
            pass
        counts: Any = connection.execute(f"SELECT {sums} FROM {table}").fetchall()[0]  # noqa: S608
        found += [
            f"{table} holds {count:,} × a {column} that is none."
            for column, count in zip(tests, counts, strict=True)
            if count
        ]
    return found or _find_undecodable(connection)


def _find_undecodable(connection: apsw.Connection) -> list[str]:
    """Find a record whose JSON has a changed key."""
    try:
        for row in stream_rows(connection, "select_records"):
            decode_record(row)
    except StoreError as problem:
        return [problem.message]
    return []


def mend_row(table: str, columns: tuple[str, ...], row: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Replace values that make no sense by the nearest that do.

    None: the row is of no use without them.
    """
    values = dict(zip(columns, row, strict=True))
    for column, words in _WORDS.get(table, {}).items():
        known = [str(word) for word in words]
        near = (
            [values[column]]
            if values[column] in known
            else get_close_matches(values[column], known, 1)
        )
        if not near and column not in _DOUBTFUL:
            return None
        values[column] = near[0] if near else _DOUBTFUL[column]
    for column in _TIMES.get(table, ()):
        if values[column] is not None and not _EARLIEST <= values[column] <= _LATEST:
            if column == "recorded_at":
                values[column] = values.get("valid_from") or 0
            elif column in _OPEN:
                values[column] = None
            else:
                values[column] = 0
    for column in _NUMBERS.get(table, ()):
        if not math.isfinite(values[column]) or abs(values[column]) > _LARGEST:
            values[column] = _MIDDLE
    for column, empty in _JSON.get(table, {}).items():
        if values[column] is not None and not _is_json(values[column]):
            values[column] = empty
    return (
        None
        if any(values[column] == "" for column in _JSON.get(table, ()))
        else tuple(values.values())
    )


def _tests(table: str) -> Iterable[tuple[str, str]]:
    """SQL conditions that find damaged values, by column."""
    for column, words in _WORDS.get(table, {}).items():
        yield column, f"{column} NOT IN ({', '.join(repr(str(word)) for word in words)})"
    for column in _TIMES.get(table, ()):
        yield column, f"{column} NOT BETWEEN {_EARLIEST} AND {_LATEST}"
    for column in _NUMBERS.get(table, ()):
        yield column, f"abs({column}) > {_LARGEST}"
    for column in _JSON.get(table, ()):
        yield column, f"NOT json_valid({column})"


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    """Refuse NaN and Infinity in JSON, which SQLite cannot read."""
    raise ValueError(word)
