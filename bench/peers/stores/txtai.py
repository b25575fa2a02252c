"""txtai without torch: words and given vectors together, content in SQLite, vectors in numpy."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder


class Store:
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        # A saved index names its embedding function; the real one takes its place when it is loaded.
        os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"
        from txtai.embeddings import Embeddings

        self._folder = folder / "txtai"
        self.about = f"txtai-minimal {version('txtai_minimal')}, numpy, content in SQLite"

        def embed(texts: Sequence[str]) -> Any:
            return encoder.embed(texts)

        given = {"method": "external", "transform": embed, "content": True, "backend": "numpy"}
        self._embeddings = Embeddings(**given)
        if self._embeddings.exists(str(self._folder)):
            self._embeddings.load(str(self._folder))
            self._embeddings.model.transform = embed

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        self._embeddings.upsert([(name, text, None) for name, text in items])

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        return [hit["id"] for hit in self._embeddings.search(text, limit)]

    def forget(self, name: str) -> None:
        self._embeddings.delete([name])

    def close(self) -> None:
        """Save: txtai keeps nothing on disk before."""
        self._embeddings.config["transform"] = "bench.peers.stores.txtai.unused"
        self._embeddings.save(str(self._folder))
        self._embeddings.close()


def unused(texts: Sequence[str]) -> None:
    """Stand for the embedding function in a saved index."""
    raise NotImplementedError(json.dumps(list(texts)))


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
