"""Chroma: one collection on disk, cosine distance, everything else as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder


class Store:
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        class Given(chromadb.EmbeddingFunction):  # type: ignore[misc]
            """The shared model in Chroma's shape."""

            def __init__(self) -> None: ...

            def __call__(self, input: Any) -> Any:
                return list(encoder.embed(input))

            @staticmethod
            def name() -> str:
                return "given"

            def get_config(self) -> dict[str, Any]:
                return {}

            @staticmethod
            def build_from_config(_config: dict[str, Any]) -> Given:
                return Given()

        self.about = f"chromadb {version('chromadb')}, PersistentClient, HNSW, cosine"
        self._client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            "bench", embedding_function=Given(), configuration={"hnsw": {"space": "cosine"}}
        )

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:
        for at in range(0, len(items), 64):
            names, texts = zip(*items[at : at + 64], strict=True)
            about = [{"owner": owner}] * len(names) if owner else None
            self._collection.add(ids=list(names), documents=list(texts), metadatas=about)

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:
        only = {"owner": owner} if owner else None
        found: list[str] = self._collection.query(
            query_texts=[text], n_results=limit, where=only, include=[]
        )["ids"][0]
        return found

    def forget(self, name: str) -> None:
        self._collection.delete(ids=[name])

    def close(self) -> None:
        self._client.close()


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
