"""Compared systems: engrams as installed, and three usual baselines."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

import engrams
from bench.quality.data import Item
from engrams.core import Kind, Scope, Turn
from engrams.models.embed.factory import choose_embedder
from engrams.ports import Embedder
from engrams.settings import EmbedSettings
from engrams.transfer.formats import ParsedTurn

OWNER = Scope(("user", "bench"))


def make_embedder(name: str) -> Embedder:
    """``builtin``, ``null``, or the folder of an ONNX model."""
    if name in ("builtin", "null"):
        return choose_embedder(EmbedSettings(provider=name))  # type: ignore[arg-type]
    return choose_embedder(EmbedSettings(provider="onnx", model=name))


class System(Protocol):
    """Memory that is filled once, then searched."""

    def fill(self, items: Sequence[Item]) -> None: ...

    def search(self, query: str, limit: int) -> list[str]: ...

    def close(self) -> None: ...


class EngramsSystem:
    """engrams by its public API, on a fresh home on disk."""

    def __init__(self, embedder: Embedder, home: Path | None = None, **settings: object) -> None:
        """Open on ``home``, else on a folder that is deleted at the end."""
        self._folder = None if home else tempfile.TemporaryDirectory(prefix="engrams-bench-")
        place = home or Path(self._folder.name)  # type: ignore[union-attr]
        self.engine = engrams.open(home=place, embedder=embedder, jobs__workers=0, **settings)  # type: ignore[arg-type]

    def fill(self, items: Sequence[Item]) -> None:
        turns = [_turn(item) for item in items]
        self.engine.load([ParsedTurn(turn) for turn in turns], scope=OWNER)
        self.engine.drain(600)

    def search(self, query: str, limit: int) -> list[str]:
        return search_turn_ids(self.engine, query, limit)

    def close(self) -> None:
        self.engine.close()
        if self._folder is not None:
            self._folder.cleanup()


def search_turn_ids(engine: engrams.MemoryEngine, query: str, limit: int) -> list[str]:
    """External ids of the turns found."""
    return [
        hit.record.external_id
        for hit in engine.search(query, scope=OWNER, limit=limit).hits
        if hit.record.kind is Kind.TURN
    ]


def _turn(item: Item) -> Turn:
    from engrams.core.clock import parse_time

    role = item.speaker.lower() if item.speaker.lower() in ("user", "assistant") else "user"
    speaker = "" if item.speaker.lower() in ("user", "assistant") else item.speaker
    at = parse_time(item.date) if item.date else None
    return Turn(
        text=item.text,
        role=role,
        speaker=speaker,
        at=at,
        session=item.session,
        external_id=item.id,
        caption=item.caption,
    )  # type: ignore[arg-type]


class Bm25System:
    """Plain BM25: SQLite FTS5, porter stemmer, any word of the question."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "create virtual table t using fts5(id unindexed, text, tokenize='porter unicode61')"
        )

    def fill(self, items: Sequence[Item]) -> None:
        self._db.executemany(
            "insert into t values (?, ?)", [(item.id, item.index_text) for item in items]
        )

    def search(self, query: str, limit: int) -> list[str]:
        words = " OR ".join(
            f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query.lower()))
        )
        rows = (
            self._db.execute(
                "select id from t where t match ? order by rank limit ?", (words, limit)
            )
            if words
            else ()
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        self._db.close()


class DenseSystem:
    """Plain dense: cosine of the question to "speaker: turn caption"."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def fill(self, items: Sequence[Item]) -> None:
        self._ids = [item.id for item in items]
        self._matrix = np.concatenate(
            [
                self._embedder.embed([item.index_text for item in items[start : start + 64]])
                for start in range(0, len(items), 64)
            ]
        )

    def search(self, query: str, limit: int) -> list[str]:
        scores = self._matrix @ self._embedder.embed([query], "query")[0]
        return [self._ids[place] for place in np.argsort(-scores, kind="stable")[:limit]]

    def close(self) -> None:
        pass


class RrfSystem:
    """RRF (k = 60) of the two baselines, a hundred hits of each."""

    def __init__(self, embedder: Embedder) -> None:
        self._parts: tuple[System, ...] = (Bm25System(), DenseSystem(embedder))

    def fill(self, items: Sequence[Item]) -> None:
        for part in self._parts:
            part.fill(items)

    def search(self, query: str, limit: int) -> list[str]:
        scores: dict[str, float] = {}
        for part in self._parts:
            for rank, name in enumerate(part.search(query, 100), 1):
                scores[name] = scores.get(name, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda name: -scores[name])[:limit]

    def close(self) -> None:
        for part in self._parts:
            part.close()
