"""LangGraph's store with a vector index:

SQLite with sqlite-vec, or in memory where this Python cannot load the extension.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder


class Store:
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        # As documented. SqliteStore 3.1.2 looks for `fields` under another name and so embeds the
        # whole item as JSON. Naming the field in each put would avoid that, and finds less on
        # LoCoMo: what is documented stays.
        index: Any = {
            "dims": encoder.dimension,
            "embed": lambda texts: encoder.lists(list(texts)),
            "fields": ["text"],
        }
        self._exit = ExitStack()
        self._store: Any
        if hasattr(sqlite3.Connection, "enable_load_extension"):
            from langgraph.store.sqlite import SqliteStore

            self._store = self._exit.enter_context(
                SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
            )
            self._store.setup()
            self.about = (
                f"langgraph-checkpoint-sqlite {version('langgraph-checkpoint-sqlite')}, SqliteStore"
                " with sqlite-vec"
            )
        else:
            from langgraph.store.memory import InMemoryStore

            self._store = InMemoryStore(index=index)
            self.about = (
                f"langgraph-checkpoint {version('langgraph-checkpoint')}, InMemoryStore: this"
                " Python loads no SQLite extension"
            )

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:
        from langgraph.store.base import PutOp

        for at in range(0, len(items), 64):
            self._store.batch(
                [PutOp(_place(owner), name, {"text": text}) for name, text in items[at : at + 64]]
            )

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:
        return [item.key for item in self._store.search(_place(owner), query=text, limit=limit)]

    def forget(self, name: str) -> None:
        self._store.delete(_place(""), name)

    def close(self) -> None:
        self._exit.close()


def _place(owner: str) -> tuple[str, ...]:
    return ("bench", owner) if owner else ("bench",)


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
