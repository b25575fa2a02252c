"""engrams on Postgres as it comes, beside the others: one API process without workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Store:
    def __init__(self, url: str, folder: Path) -> None:
        import engrams

        self._memory: Any = engrams.open(home=str(folder), store={"url": url}, jobs__workers=0)
        self.about = f"engrams {engrams.__version__}, its builtin embedder"

    def fill(self, owner: str, texts: Sequence[str]) -> None:
        self._memory.observe(list(texts), scope=("user", owner))

    def add(self, owner: str, text: str) -> None:
        self._memory.add(text, scope=("user", owner), settle=False)

    def search(self, owner: str, text: str, limit: int) -> list[str]:
        return [
            hit.record.text
            for hit in self._memory.search(text, scope=("user", owner), limit=limit).hits
        ]

    def close(self) -> None:
        self._memory.close()


def open_store(url: str, folder: Path) -> Store:
    return Store(url, folder)
