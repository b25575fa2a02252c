"""Statements by name, and the connections that run them.

The file ``queries.sql`` of a package holds statements below lines ``-- name: NAME``. Those of
``store/sql`` are in the words that SQLite and Postgres share; Postgres' own ones replace some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Protocol

from engrams.errors import StoreError

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_SOURCES = ("engrams.store.sql", "engrams.store.sqlite")
"""Packages with statements: those of every store, and those that only SQLite needs."""


class SqlConnection(Protocol):
    """Connection that runs statements with ``?`` for values."""

    def execute(self, statement: str, parameters: Any = ..., /) -> Any: ...

    def changes(self) -> int:
        """Rows that the last statement changed."""
        ...


@cache
def load_queries(*packages: str) -> dict[str, str]:
    """Load the statements of packages; by default those of the code."""
    statements: dict[str, str] = {}
    for package in packages or _SOURCES:
        # Before the first name stands a comment; then names and statements take turns.
        _, *pieces = _NAME.split((resources.files(package) / "queries.sql").read_text("utf-8"))
        statements |= {
            name: statement.strip().rstrip(";")
            for name, statement in zip(pieces[::2], pieces[1::2], strict=True)
        }
    return statements


def query(name: str) -> str:
    """Return the SQL text of a named query."""
    return load_queries()[name]


def fetch_all(connection: SqlConnection, name: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a named query; return all rows."""
    rows: list[tuple[Any, ...]] = connection.execute(query(name), values).fetchall()
    return rows


def fetch_composed(
    connection: SqlConnection, statement: str, values: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Run a composed statement; return all rows."""
    rows: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
    return rows


def stream_rows(connection: SqlConnection, name: str, *values: Any) -> Iterator[Any]:
    """Run a named query; yield its rows one by one."""
    rows: Iterator[Any] = connection.execute(query(name), values)
    return rows


def fetch_first(connection: SqlConnection, name: str, *values: Any) -> tuple[Any, ...] | None:
    """Run a named query; return the first row, if any."""
    rows = fetch_all(connection, name, *values)
    return rows[0] if rows else None


def fetch_one(connection: SqlConnection, name: str, *values: Any) -> tuple[Any, ...]:
    """Run a named query; return its only row. StoreError: another program took it away."""
    rows = fetch_all(connection, name, *values)
    if len(rows) != 1:
        raise StoreError(
            f"The database lacks a row that every memory has (query {name!r}).",
            hint="`engrams doctor` checks it. A backup has the row (`engrams recover`).",
        )
    return rows[0]


def execute(connection: SqlConnection, name: str, *values: Any) -> None:
    """Run a named statement."""
    connection.execute(query(name), values)


def execute_counting(connection: SqlConnection, name: str, *values: Any) -> int:
    """Run a named statement; return the number of rows changed."""
    connection.execute(query(name), values)
    return connection.changes()
