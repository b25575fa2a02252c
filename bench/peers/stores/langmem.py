"""LangMem's tools, called as a model would call them, on LangGraph's store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.encoder import Encoder
from bench.peers.stores.langgraph import Store as LangGraphStore

_keys: defaultdict[Path, dict[str, str]] = defaultdict(dict)
"""Key of its memory by item, by folder: a store that is opened again still needs them."""


class Store(LangGraphStore):
    def __init__(self, encoder: Encoder, folder: Path) -> None:
        from langmem import create_manage_memory_tool, create_search_memory_tool

        super().__init__(encoder, folder)
        namespace = ("bench",)
        self._manage: Any = create_manage_memory_tool(namespace, store=self._store)
        self._find: Any = create_search_memory_tool(
            namespace, store=self._store, response_format="content_and_artifact"
        )
        self._keys = _keys[folder]
        self.about = f"langmem {version('langmem')}, its two tools, on {self.about}"

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        for name, text in items:
            answer: str = self._manage.invoke({"content": text, "action": "create"})
            self._keys[name] = answer.rsplit(maxsplit=1)[-1]

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        names = {key: name for name, key in self._keys.items()}
        _, hits = self._find.func(query=text, limit=limit)
        return [names.get(hit.key, hit.key) for hit in hits]

    def forget(self, name: str) -> None:
        self._manage.invoke({"action": "delete", "id": self._keys[name]})


def open_store(encoder: Encoder, folder: Path) -> Store:
    return Store(encoder, folder)
