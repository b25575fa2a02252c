"""mnemosyne as pip installs it: one SQLite file, search by words, no embeddings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

_ids: defaultdict[Path, dict[str, str]] = defaultdict(dict)
"""Id of its memory by item, by folder: a store that is opened again still needs them."""


class Store:
    def __init__(self, folder: Path) -> None:
        from mnemosyne import Mnemosyne

        self._memory: Any = Mnemosyne(session_id="bench", db_path=folder / "mnemosyne.db")
        self._ids = _ids[folder]
        self.about = f"mnemosyne-memory {version('mnemosyne-memory')}, without its extras"

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        for name, text in items:
            self._ids[name] = self._memory.remember(text)

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        names = {record_id: name for name, record_id in self._ids.items()}
        hits = self._memory.recall(text, top_k=limit)
        return [names.get(hit["id"], hit["id"]) for hit in hits]

    def forget(self, name: str) -> None:
        self._memory.forget(self._ids[name])

    def close(self) -> None:
        """Leave the connection to the process: the library keeps one for each file."""


def open_store(_encoder: object, folder: Path) -> Store:
    return Store(folder)
