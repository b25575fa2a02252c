"""mem0 with ``infer=False``:
its vector memory without a language model, on its default store (Qdrant, local, on disk).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder

_USER = "bench"


class _Given:
    """The shared model in mem0's shape."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0 names it
        return self._encoder.lists([text])[0]


class Store:
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        from mem0 import Memory

        place = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": encoder.dimension,
        }
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(folder / "history.db"),
                # Both must be named to build a Memory; neither is ever asked.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {
                    "provider": "openai",
                    "config": {"api_key": "none", "embedding_dims": encoder.dimension},
                },
            }
        )
        self._memory.embedding_model = _Given(encoder)
        self.about = (
            f"mem0ai {version('mem0ai')}, infer=False, local Qdrant; as pip installs it, so without"
            " its keyword and entity extras"
        )

    def fill(self, items: Sequence[tuple[str, str]], owner: str = _USER) -> None:
        for name, text in items:
            self._memory.add(text, user_id=owner, metadata={"item": name}, infer=False)

    def search(self, text: str, limit: int, owner: str = _USER) -> list[str]:
        found = self._memory.search(text, top_k=limit, filters={"user_id": owner}, threshold=0.0)[
            "results"
        ]
        return [hit["metadata"]["item"] for hit in found]

    def forget(self, name: str) -> None:
        found = self._memory.get_all(filters={"user_id": _USER, "item": name})["results"]
        for memory in found:
            self._memory.delete(memory["id"])

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
