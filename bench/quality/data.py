"""Data sets as JSON; see docs/guides/measure.md.

``{"name", "conversations": [{"id", "items": [...], "questions": [...]}]}``
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    text: str
    speaker: str
    session: str
    date: str
    caption: str = ""

    @property
    def index_text(self) -> str:
        """Text with speaker and caption, as the baselines index it."""
        return f"{self.speaker}: {self.text} {self.caption}".strip()

    @property
    def dated_text(self) -> str:
        """Text with its day, as a reader gets it."""
        return f"[{self.date[:10]}] {self.index_text}" if self.date else self.index_text


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    category: str
    evidence: tuple[str, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    talks: tuple[Talk, ...]


def load_dataset(path: Path) -> Dataset:
    """Read a data set, without questions that have no evidence."""
    raw = json.loads(path.read_text("utf-8"))
    return Dataset(
        raw.get("name", path.stem), tuple(_parse_talk(talk) for talk in raw["conversations"])
    )


def _parse_talk(raw: dict[str, object]) -> Talk:
    items = tuple(
        Item(
            str(i["id"]),
            i["text"],
            i.get("speaker", ""),
            str(i.get("session", "")),
            i.get("date", ""),
            i.get("caption") or "",
        )
        for i in raw["items"]  # type: ignore[attr-defined]
    )
    questions = tuple(
        Question(
            str(q.get("id", n)),
            q["text"],
            str(q.get("category", "")),
            tuple(map(str, q["evidence"])),
            str(q.get("answer") or ""),
        )
        for n, q in enumerate(raw["questions"])  # type: ignore[arg-type, var-annotated]
        if q["evidence"]
    )
    return Talk(str(raw["id"]), items, questions)
