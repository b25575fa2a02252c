"""Data sets: ``{"name", "conversations": [{"id", "items": [...], "questions": [...]}]}``; see docs/guides/measure.md."""

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
    def shown(self) -> str:
        """With its speaker and caption, as the baselines index it."""
        return f"{self.speaker}: {self.text} {self.caption}".strip()


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    talks: tuple[Talk, ...]


def load(path: Path) -> Dataset:
    """Read a data set; questions without evidence are left out, as no recall can be told for them."""
    raw = json.loads(path.read_text("utf-8"))
    return Dataset(raw.get("name", path.stem), tuple(_talk(talk) for talk in raw["conversations"]))


def _talk(raw: dict[str, object]) -> Talk:
    items = tuple(
        Item(str(i["id"]), i["text"], i.get("speaker", ""), str(i.get("session", "")), i.get("date", ""), i.get("caption") or "")
        for i in raw["items"]  # type: ignore[attr-defined]
    )
    questions = tuple(
        Question(str(q.get("id", n)), q["text"], str(q.get("category", "")), tuple(map(str, q["evidence"])))
        for n, q in enumerate(raw["questions"])  # type: ignore[arg-type, var-annotated]
        if q["evidence"]
    )
    return Talk(str(raw["id"]), items, questions)
