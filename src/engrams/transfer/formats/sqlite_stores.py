"""SQLite files of other memories: mem0's history, its local vector store, and memvara's store.

A database is recognised by its tables. It is copied before it is opened, so that nothing of the
original changes, and read with what may still stand in its log.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engrams.core import Json
from engrams.errors import InputError
from engrams.transfer.formats import mem0, memvara, qdrant_points
from engrams.transfer.formats.foreign_objects import ForeignObject, convert
from engrams.transfer.formats.import_sources import STDIN, ImportSource
from engrams.transfer.formats.pieces import ForeignPiece, ParsedTurn

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\0"
_VALUE_BYTES = 16 << 20
"""Bytes of one row at most; a column may be computed, so that a small file holds large ones."""
_OWN_HINT = (
    "A database of engrams is moved with `engrams backup`, or with `engrams export` and `engrams"
    " import`."
)
_KNOWN_HINT = (
    "Known are mem0's history.db, a local Qdrant store of mem0, and memvara's store; export"
    " anything else as JSON."
)


def is_database(source: ImportSource) -> bool:
    """Check for a SQLite file; a stream is rewound."""
    if isinstance(source, str | Path):
        if str(source) == STDIN:
            return False
        try:
            with Path(source).open("rb") as file:
                return file.read(len(MAGIC)) == MAGIC
        except (OSError, ValueError):
            return False
    if not source.seekable():
        return False
    start = source.tell()
    has_magic = bool(source.read(len(MAGIC)) == MAGIC)
    source.seek(start)
    return has_magic


def detect(source: ImportSource) -> Literal["mem0", "memvara"]:
    """Recognise whose database it is. InputError: nobody's known here, or it is damaged."""
    with _open_database(source) as database:
        return _recognise_tables(_list_tables(database))


def read(source: ImportSource) -> Iterator[ForeignPiece]:
    """Yield the memories of a database. InputError: as for ``detect``."""
    with _open_database(source) as database:
        tables = _list_tables(database)
        if _recognise_tables(tables) == "memvara":
            for row in _read_rows(database, "episodes", "ts"):
                yield from convert(0, row, memvara.parse_episode, "An episode")
            for row in _read_rows(database, "claims", "recorded_at"):
                yield from convert(0, row, memvara.parse_claim, "A claim")
        elif "points" in tables:
            for row in _read_rows(database, "points", "id"):
                yield from convert(0, row, _parse_point, "A point")
        else:
            rows = _read_rows(database, "history", "created_at")
            yield from mem0.read_history(ForeignObject(0, row) for row in rows)


def _recognise_tables(tables: set[str]) -> Literal["mem0", "memvara"]:
    if {"records", "outbox"} <= tables:
        raise InputError("It is a database of engrams.", hint=_OWN_HINT)
    if {"claims", "episodes"} <= tables:
        return "memvara"
    if "points" in tables or "history" in tables:
        return "mem0"
    raise InputError("It is a SQLite database of an unknown program, not text.", hint=_KNOWN_HINT)


@contextmanager
def _open_database(source: ImportSource) -> Iterator[apsw.Connection]:
    """Open a copy of a database. InputError: it cannot be read."""
    import apsw

    with tempfile.TemporaryDirectory(prefix="engrams-import-") as folder:
        path = Path(folder) / "copy.db"
        if isinstance(source, str | Path):
            # What was written last may still be in the log beside it.
            for suffix in ("", "-wal"):
                neighbour = Path(f"{source}{suffix}")
                if neighbour.is_file():
                    shutil.copyfile(neighbour, f"{path}{suffix}")
        else:
            start = source.tell()
            with path.open("wb") as file:
                shutil.copyfileobj(source, file)
            source.seek(start)
        try:
            database = apsw.Connection(str(path))
            try:
                # The schema comes from elsewhere: its views and triggers may call no function
                # that does anything.
                database.pragma("trusted_schema", "off")
                database.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
                yield database
            finally:
                database.close()
        except (apsw.Error, UnicodeDecodeError) as problem:
            raise InputError(
                f"The database cannot be read: {problem}.", hint="Get a fresh copy of it."
            ) from None


def _list_tables(database: apsw.Connection) -> set[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {str(name) for (name,) in rows}


def _read_rows(database: apsw.Connection, table: str, order: str) -> Iterator[dict[str, Json]]:
    """Yield a table's rows by column.

    ``table`` and ``order`` are constants of this module, never names out of the file.
    """
    cursor = database.execute(f'SELECT * FROM "{table}" ORDER BY "{order}", rowid')  # noqa: S608
    for row in cursor:
        yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


def _parse_point(row: ForeignObject) -> ParsedTurn | None:
    """Convert a row of a Qdrant store; None for a point of another program than mem0."""
    point = row.data.get("point")
    if not isinstance(point, bytes):
        raise ValueError("it contains no point")
    return mem0.parse_point(qdrant_points.read_point(point), row.line)
