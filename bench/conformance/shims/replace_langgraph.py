"""Put our stores in the place of LangGraph's SQLite stores, as their tests construct them."""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from engrams.adapters import AsyncLangGraphStore, LangGraphStore

INTERNALS = {
    "SqliteIndexConfig": dict, "BaseSqliteStore": object, "NS_MATCH_FUNCTION": "",
    "_escape_glob_literal": None, "_namespace_match_pattern": None,
}  # fmt: skip


def rename_fields(index: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Read ``text_fields``, as those tests call ``fields``."""
    return index and {**index, "fields": index.get("text_fields") or index.get("fields")}


def keep_ends(ttl: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Refresh on read only where it is asked for, as that store does;

    LangGraph's documentation says: unless it is turned off.
    """
    return ttl and {"refresh_on_read": False, **ttl}


class SqliteStore(LangGraphStore):
    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: Any = None, ttl: Any = None
    ) -> Iterator[LangGraphStore]:
        with super().from_conn_string(
            conn_string, index=rename_fields(index), ttl=keep_ends(ttl)
        ) as store:
            yield store


class AsyncSqliteStore(AsyncLangGraphStore):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncIterator[AsyncLangGraphStore]:
        async with super().from_conn_string(
            conn_string, index=rename_fields(index), ttl=keep_ends(ttl)
        ) as store:
            yield store


def stand_in(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


stand_in("langgraph.store.sqlite", SqliteStore=SqliteStore, AsyncSqliteStore=AsyncSqliteStore)
stand_in("langgraph.store.sqlite.base", SqliteStore=SqliteStore, **INTERNALS)
stand_in("langgraph.store.sqlite.aio", AsyncSqliteStore=AsyncSqliteStore)
