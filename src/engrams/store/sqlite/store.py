"""SQLite store: one file, or memory, behind all ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sql import linkqueries, recordqueries
from engrams.store.sql.store import SqlStore
from engrams.store.sqlite.database import SqliteDatabase
from engrams.store.sqlite.dialect import SqliteDialect
from engrams.store.sqlite.indexfiles import SqliteIndexFiles
from engrams.types import Edge, EdgeType, Json, Record, Scope


class SqliteStore(SqlStore):
    """Every port over one SQLite database.

    Safe in many threads, processes and after a fork."""

    _database: SqliteDatabase

    @classmethod
    def open(cls, path: Path | Literal[":memory:"], settings: StoreSettings, clock: Clock) -> SqliteStore:
        """Open a database file, or one in memory.

        Nothing is created before the first write. What can be read of a damaged file is copied to a new one, and the damaged file is kept
        beside it; ``check`` reports it. StoreError: nothing could be read from it, or it is another program's or a newer engrams' file."""
        place = None if path == ":memory:" else Path(path).expanduser()
        database = SqliteDatabase(place, settings, clock)
        return cls(database, SqliteDialect(database.get_epoch), settings, clock, SqliteIndexFiles(database))

    def surroundings(self, owner: Scope, ids: Sequence[str], types: Sequence[EdgeType]) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Read edges, then records: quicker than a statement that finds both."""
        with self._database.asking(owner) as connection:
            edges, known = linkqueries.find_edges(connection, owner, ids, ()), frozenset(ids)
            leading = (edge.source for edge in edges if edge.type in types and edge.target in known)
            return edges, recordqueries.get_records(connection, owner, list(dict.fromkeys((*ids, *leading))))

    def check(self, repair: bool) -> Mapping[str, Json]:
        from engrams.store.sqlite import databasecheck

        return databasecheck.check_database(self._database, repair, self._clock)
