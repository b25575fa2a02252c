"""SQLite's full-text index, porter stemmer, any of the question's words:
what takes twenty lines without a library.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path


class Store:
    def __init__(self, folder: Path) -> None:
        self.about = f"SQLite {sqlite3.sqlite_version} FTS5, porter, BM25, on disk"
        self._db = sqlite3.connect(folder / "words.db")
        self._db.execute(
            "create virtual table if not exists t using fts5(id unindexed, owner unindexed, text,"
            " tokenize='porter unicode61')"
        )

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:
        with self._db:
            self._db.executemany(
                "insert into t values (?, ?, ?)", [(name, owner, text) for name, text in items]
            )

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text.lower())))
        where, given = (
            ("t match ? and owner = ?", (words, owner)) if owner else ("t match ?", (words,))
        )
        rows = (
            self._db.execute(
                f"select id from t where {where} order by rank limit ?", (*given, limit)
            )
            if words
            else ()
        )
        return [row[0] for row in rows]

    def forget(self, name: str) -> None:
        with self._db:
            self._db.execute("delete from t where id = ?", (name,))

    def close(self) -> None:
        self._db.close()


def open_store(_encoder: object, folder: Path) -> Store:
    return Store(folder)
