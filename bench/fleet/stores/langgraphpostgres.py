"""LangGraph's PostgresStore with a vector index, everything else as it comes:
a namespace for each owner.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.fleet.table_vectors import DIMENSION, embed

_BATCH = 100


def _embed_items(texts: Sequence[str]) -> list[list[float]]:
    """Embed the text of items, and also of those that arrive as JSON."""
    return embed(
        [json.loads(text)["text"] if text.startswith('{"text"') else text for text in texts]
    )


class Store:
    def __init__(self, url: str) -> None:
        from langgraph.store.postgres import PostgresStore

        index: Any = {"dims": DIMENSION, "embed": _embed_items, "fields": ["text"]}
        self._exit = ExitStack()
        self._store: Any = self._exit.enter_context(
            PostgresStore.from_conn_string(url, index=index)
        )
        self._store.setup()
        self.about = (
            f"langgraph-checkpoint-postgres {version('langgraph-checkpoint-postgres')},"
            " PostgresStore, HNSW, cosine"
        )

    def fill(self, owner: str, texts: Sequence[str]) -> None:
        from langgraph.store.base import PutOp

        for at in range(0, len(texts), _BATCH):
            self._store.batch(
                [
                    PutOp(("memories", owner), str(uuid4()), {"text": text})
                    for text in texts[at : at + _BATCH]
                ]
            )

    def add(self, owner: str, text: str) -> None:
        self._store.put(("memories", owner), str(uuid4()), {"text": text})

    def search(self, owner: str, text: str, limit: int) -> list[str]:
        return [
            item.value["text"]
            for item in self._store.search(("memories", owner), query=text, limit=limit)
        ]

    def close(self) -> None:
        self._exit.close()


def open_store(url: str, _folder: Path) -> Store:
    return Store(url)
