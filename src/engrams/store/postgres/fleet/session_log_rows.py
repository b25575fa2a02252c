"""Crisis and feedback logs in a table of Postgres."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from engrams.core import Scope
from engrams.errors import ScopeError
from engrams.ports import SessionLogRow, SessionLogSearch
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.named_queries import SqlConnection, load_queries

_KEY = 32


class PostgresSessionLog:
    """One log of a fleet; all share one hash key.

    An owner's records are written and listed with the right of that owner, everything else with
    that of the fleet.
    """

    exists = True

    def __init__(self, name: str, database: PostgresDatabase, close: Callable[[], None]) -> None:
        self._name = name
        self._database = database
        self.close = close
        self._queries = load_queries(__package__)
        self._key = b""

    def load_key(self) -> bytes:
        if not self._key:
            self._key = self.find_key() or self._make_key()
        return self._key

    def find_key(self) -> bytes:
        rows = self._ask(None, "log_keys")
        return bytes(rows[0][0]) if rows else b""

    def save_key(self, key: bytes) -> None:
        self._change(None, "save_log_key", key)
        self._key = key

    def add(self, row: SessionLogRow) -> bool:
        owner = _find_owner(row.owner or "")
        values = (
            self._name,
            "" if owner is None else owner.key,
            row.id,
            row.at,
            row.owner or "",
            row.session,
            row.data,
        )
        return self._change(owner, "add_session_log", *values) > 0

    def find(self, query: SessionLogSearch) -> list[SessionLogRow]:
        values = (self._name, query.since, query.until, query.session, query.limit)
        if query.owner:
            rows = self._ask(_find_owner(query.owner), "owner_session_logs", *values, query.owner)
        else:
            rows = self._ask(None, "session_logs", *values)
        return [SessionLogRow(*row) for row in rows]

    def purge(self, before: int) -> int:
        return self._change(None, "purge_session_logs", self._name, before)

    def _make_key(self) -> bytes:
        """Make the key; the first process that does makes all processes'."""
        self._change(None, "add_log_key", secrets.token_bytes(_KEY))
        return self.find_key()

    def _ask(self, owner: Scope | None, name: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._database.asking(owner) as connection:
            return connection.execute(self._queries[name], values).fetchall()

    def _change(self, owner: Scope | None, name: str, *values: Any) -> int:
        def change(connection: SqlConnection) -> int:
            connection.execute(self._queries[name], values)
            return connection.changes()

        return self._database.write(owner, change)


def _find_owner(key: str) -> Scope | None:
    """Find the owner of a scope by its key, if any."""
    labels = key.split("/")[:2]
    try:
        return Scope.parse("/".join(labels)) if len(labels) > 1 else None
    except ScopeError:
        return None
