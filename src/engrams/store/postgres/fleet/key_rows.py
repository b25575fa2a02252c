"""API keys in a table of Postgres."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from engrams.core import Scope
from engrams.core.clock import micros
from engrams.ports import ApiKey
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.named_queries import SqlConnection, load_queries
from engrams.store.sql.row_conversion import decode_time, to_datetime


class PostgresApiKeys:
    """Keys of a fleet, a row each; every look-up asks the database."""

    is_remote = True

    def __init__(self, database: PostgresDatabase, close: Callable[[], None]) -> None:
        self._database = database
        self.close = close
        self._queries = load_queries(__package__)

    def find_key(self, id: str) -> ApiKey | None:
        with self._database.asking(None) as connection:
            rows = connection.execute(self._queries["find_key"], (id,)).fetchall()
        return _to_key(rows[0]) if rows else None

    def find_problems(self) -> tuple[str, ...]:
        """Say nothing: rows of a server have no seals."""
        return ()

    def list_keys(self) -> tuple[ApiKey, ...]:
        with self._database.asking(None) as connection:
            return tuple(map(_to_key, connection.execute(self._queries["list_keys"]).fetchall()))

    def save_key(self, key: ApiKey) -> ApiKey:
        values = (
            key.id,
            key.name,
            key.owner.key,
            ",".join(key.rights),
            key.digest,
            micros(key.created_at),
            _to_micros(key.expires_at),
            _to_micros(key.revoked_at),
            key.minute_requests,
            key.daily_requests,
        )

        def save(connection: SqlConnection) -> ApiKey:
            return _to_key(connection.execute(self._queries["save_key"], values).fetchall()[0])

        return self._database.write(None, save)


def _to_key(row: tuple[Any, ...]) -> ApiKey:
    id, name, owner, rights, digest, created, expires, revoked, minute, daily = row
    times = to_datetime(created), decode_time(expires), decode_time(revoked)
    return ApiKey(
        id, name, Scope.parse(owner), tuple(rights.split(",")), digest, *times, minute, daily
    )


def _to_micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)
