"""engram-agent-memory: a Markdown file for each message, found by words; no embeddings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

_SHOWN = 5
_NODE = re.compile(r"\[(n\d+)\b")
_names: defaultdict[Path, dict[str, str]] = defaultdict(dict)
"""Items by their file, by folder: a store that is opened again still needs them."""


class Store:
    def __init__(self, folder: Path) -> None:
        from engram import MemoryStore

        self._notes = folder / "knowledge"
        self._notes.mkdir(parents=True, exist_ok=True)
        self._store: Any = MemoryStore(str(self._notes))
        self._names = _names[folder]
        self.about = f"engram-agent-memory {version('engram-agent-memory')}, words only"

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        for name, text in items:
            node = f"n{len(self._names)}"
            self._names[node] = name
            note = f"---\nname: {node}\ntype: user\n---\n{text}\n"
            (self._notes / f"{node}.md").write_text(note, "utf-8")
        self._store.build()

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        matches = (_NODE.match(hit["text"]) for hit in self._store.smart_recall(text, limit))
        return [self._names.get(match[1], match[1]) for match in matches if match is not None]

    def inject(self, text: str) -> list[dict[str, Any]]:
        """What passes its own floor of relevance."""
        return [{"ids": [name], "is_marked": False} for name in self.search(text, _SHOWN)]

    def forget(self, name: str) -> None:
        """Remove the file, which is its source of truth, and build the index again."""
        nodes = {item: node for node, item in self._names.items()}
        (self._notes / f"{nodes[name]}.md").unlink()
        self._store.build(full=True)

    def close(self) -> None:
        """Do nothing: it opens the database for each call."""


def open_store(_encoder: object, folder: Path) -> Store:
    return Store(folder)
