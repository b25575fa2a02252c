"""mem0 on pgvector with ``infer=False``:
its vector memory without a language model, everything else as it comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.fleet.table_vectors import DIMENSION, embed

_BATCH = 500


class _Given:
    """The shared embedder in mem0's shape."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0 names it
        return embed([text])[0]


class Store:
    def __init__(self, url: str, folder: Path) -> None:
        from mem0 import Memory

        place = {
            "connection_string": url,
            "collection_name": "memories",
            "embedding_model_dims": DIMENSION,
        }
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": place},
                "history_db_path": str(folder / "history.db"),
                # Both must be named to build a Memory; neither is ever asked.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {
                    "provider": "openai",
                    "config": {"api_key": "none", "embedding_dims": DIMENSION},
                },
            }
        )
        self._memory.embedding_model = _Given()
        self.about = (
            f"mem0ai {version('mem0ai')}, infer=False, pgvector, HNSW; as pip installs it, without"
            " its keyword and entity extras"
        )

    def fill(self, owner: str, texts: Sequence[str]) -> None:
        """Insert by its vector store, many in a transaction:
        what ``add`` stores for one text, without its log in a file.
        """
        from mem0.utils.lemmatization import lemmatize_for_bm25

        now = datetime.now(UTC).isoformat()
        for at in range(0, len(texts), _BATCH):
            some = texts[at : at + _BATCH]
            payloads = [
                {
                    "user_id": owner,
                    "role": "user",
                    "data": text,
                    "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                    "created_at": now,
                    "updated_at": now,
                    "text_lemmatized": lemmatize_for_bm25(text),
                }
                for text in some
            ]
            self._memory.vector_store.insert(
                vectors=embed(some), payloads=payloads, ids=[str(uuid4()) for _ in some]
            )

    def add(self, owner: str, text: str) -> None:
        self._memory.add(text, user_id=owner, infer=False)

    def search(self, owner: str, text: str, limit: int) -> list[str]:
        found = self._memory.search(text, top_k=limit, filters={"user_id": owner}, threshold=0.0)[
            "results"
        ]
        return [hit["memory"] for hit in found]

    def close(self) -> None:
        self._memory.close()


def open_store(url: str, folder: Path) -> Store:
    return Store(url, folder)
