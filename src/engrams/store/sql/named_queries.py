"""Statements by name, and the connections that run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Protocol

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_SOURCES = ("engrams.store.sql", "engrams.store.sqlite")
"""Packages with statements: those of every store, and those that only SQLite needs."""


class SqlConnection(Protocol):
    """Connection that runs statements with ``?`` for values."""

    def execute(self, text: str, values: Any = ..., /) -> Any: ...

    def changes(self) -> int: ...


@cache
def load_queries(*packages: str) -> dict[str, str]:
    """Load the statements of packages; by default those of the code."""
    found: dict[str, str] = {}
    for package in packages or _SOURCES:
        _, *parts = _NAME.split((resources.files(package) / "queries.sql").read_text("utf-8"))
        found |= {
            name: body.strip().rstrip(";")
            for name, body in zip(parts[::2], parts[1::2], strict=True)
        }
    return found


def query(name: str) -> str:
    """Return the SQL text of a named query."""
    return load_queries()[name]


def fetch_all(connection: SqlConnection, name: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a named query; all rows."""
    rows: list[tuple[Any, ...]] = connection.execute(query(name), values).fetchall()
    return rows


def fetch_composed(
    connection: SqlConnection, text: str, values: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Run a composed statement; all rows."""
    rows: list[tuple[Any, ...]] = connection.execute(text, values).fetchall()
    return rows


def stream_rows(connection: SqlConnection, name: str, *values: Any) -> Iterator[Any]:
    """Run a named query; rows one by one."""
    rows: Iterator[Any] = connection.execute(query(name), values)
    return rows


def fetch_first(connection: SqlConnection, name: str, *values: Any) -> tuple[Any, ...] | None:
    """Run a named query; the first row, if any."""
    found = fetch_all(connection, name, *values)
    return found[0] if found else None


def fetch_one(connection: SqlConnection, name: str, *values: Any) -> tuple[Any, ...]:
    """Run a named query; its only row."""
    (row,) = fetch_all(connection, name, *values)
    return row


def execute(connection: SqlConnection, name: str, *values: Any) -> None:
    """Run a named statement."""
    connection.execute(query(name), values)


def execute_counting(connection: SqlConnection, name: str, *values: Any) -> int:
    """Run a named statement; number of rows changed."""
    connection.execute(query(name), values)
    return connection.changes()
