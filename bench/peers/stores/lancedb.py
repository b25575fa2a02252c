"""LanceDB: one table on disk, given vectors, cosine distance, everything else as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder

_TABLE = "bench"


class Store:
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        import lancedb

        self.about = f"lancedb {version('lancedb')}, flat search, cosine"
        self._encoder = encoder
        self._database: Any = lancedb.connect(str(folder / "lance"))
        has_table = _TABLE in self._database.table_names()
        self._table: Any = self._database.open_table(_TABLE) if has_table else None

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        vectors = self._encoder.embed([text for _, text in items])
        rows = [
            {"id": name, "text": text, "vector": vector}
            for (name, text), vector in zip(items, vectors, strict=True)
        ]
        if self._table is None:
            self._table = self._database.create_table(_TABLE, rows)
        else:
            self._table.add(rows)

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        (vector,) = self._encoder.embed([text])
        query = self._table.search(vector).distance_type("cosine").limit(limit)
        return [row["id"] for row in query.to_list()]

    def forget(self, name: str) -> None:
        """Delete the row, then the files of earlier versions, as the documentation advises."""
        from datetime import timedelta

        self._table.delete(f"id = '{name}'")
        self._table.optimize(cleanup_older_than=timedelta(0))

    def close(self) -> None:
        """Do nothing: each write is on disk already."""


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
