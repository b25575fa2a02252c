"""Named queries, schema and migrations from SQL files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import apsw

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """Step of the schema; ``number``: the ``user_version`` after it."""

    number: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.blake2b(self.script.encode(), digest_size=16).hexdigest()


@cache
def load_queries() -> dict[str, str]:
    """Load the queries of ``queries.sql`` by name."""
    _, *parts = _NAME.split(_read_text("queries.sql"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def query(name: str) -> str:
    """Text of a named query; KeyError for an unknown name."""
    return load_queries()[name]


def fetch_all(connection: apsw.Connection, name: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a named query; all rows."""
    return connection.execute(query(name), values).fetchall()


def fetch_composed(connection: apsw.Connection, text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a composed statement; all rows."""
    return connection.execute(text, values).fetchall()


def stream_rows(connection: apsw.Connection, name: str, *values: Any) -> Iterator[Any]:
    """Run a named query; rows one by one."""
    return connection.execute(query(name), values)


def fetch_first(connection: apsw.Connection, name: str, *values: Any) -> tuple[Any, ...] | None:
    """Run a named query; the first row, if any."""
    found = fetch_all(connection, name, *values)
    return found[0] if found else None


def fetch_one(connection: apsw.Connection, name: str, *values: Any) -> tuple[Any, ...]:
    """Run a named query; its only row."""
    (row,) = fetch_all(connection, name, *values)
    return row


def execute(connection: apsw.Connection, name: str, *values: Any) -> int:
    """Run a named statement; number of rows changed."""
    connection.execute(query(name), values)
    return connection.changes()


def load_schema() -> str:
    return _read_text("schema.sql")


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Load all migrations in order."""
    folder = resources.files(__package__) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8")) for file in files)


def _read_text(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")
