"""memvara without a model: facts by its rules, and the messages themselves (``include_episodes``).

It wants SQLite 3.42 or newer, so pysqlite3 stands in for the standard module.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

_claims: defaultdict[Path, dict[str, list[str]]] = defaultdict(dict)
"""Ids of the claims from each item, by folder: a store that is opened again still needs them."""
_items: defaultdict[Path, dict[str, str]] = defaultdict(dict)
"""Item by the id of its message or claim, by folder."""


class Store:
    def __init__(self, folder: Path) -> None:
        import pysqlite3

        sys.modules["sqlite3"] = pysqlite3
        from memvara import Memvara, NullLLM

        self._memory: Any = Memvara(str(folder / "memory.db"), user="bench", llm=NullLLM())
        self._claims = _claims[folder]
        self._items = _items[folder]
        self.about = (
            f"memvara {version('memvara')}, NullLLM, its own embedder, messages included, SQLite"
            f" {pysqlite3.sqlite_version} of pysqlite3"
        )

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        for name, text in items:
            receipt = self._memory.add(text)
            self._claims[name] = [claim.id for claim in receipt.added]
            for record_id in (*receipt.episode_ids, *self._claims[name]):
                self._items[record_id] = name

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        hits = self._memory.search(text, k=2 * limit, include_episodes=True)
        ids = [hit.claim.id if hit.kind == "claim" else hit.episode.id for hit in hits]
        return list(dict.fromkeys(self._items.get(id, id) for id in ids))[:limit]

    def forget(self, name: str) -> None:
        if not self._claims[name]:
            raise LookupError("erases facts or all of a person, and no fact was learned from this")
        for claim_id in self._claims[name]:
            self._memory.erase(claim_id, sources=True)

    def close(self) -> None:
        self._memory.close()


def open_store(_encoder: object, folder: Path) -> Store:
    return Store(folder)
