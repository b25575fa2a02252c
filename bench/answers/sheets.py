"""Files of a run: what a reader and a judge get, what they write, and the key.

The names of the systems are in the key alone; docs/guides/measure.md describes each file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.answers.sample import Asked
from engrams.models.tokens.estimate import estimate_tokens

KEY = "key.json"
SHEET = "judge.jsonl"


@dataclass(frozen=True, slots=True)
class AskedRow:
    """One context of the key: who made it, and for which question."""

    id: str
    system: str
    question: str
    text: str
    category: str
    gold: str
    evidence: tuple[str, ...]
    tokens: int


def write_run(
    folder: Path, asked: Sequence[Asked], contexts: Mapping[str, Mapping[str, str]], seed: int
) -> list[Path]:
    """Write the key and one file for each of as many readers as there are systems.

    Every file has every question once, and every system about as often. ``contexts``: system ->
    question -> text.
    """
    order = random.Random(seed)
    names = list(contexts)
    files: list[list[dict[str, str]]] = [[] for _ in names]
    key = []
    numbers = iter(order.sample(range(10_000, 100_000), len(asked) * len(names)))
    shift = {one.key: order.randrange(len(names)) for one in asked}
    for one in asked:
        for place, name in enumerate(names):
            text = contexts[name][one.key]
            id = f"a{next(numbers)}"
            files[(place + shift[one.key]) % len(names)].append(
                {"id": id, "context": text, "question": one.question.text}
            )
            row = {
                "id": id,
                "system": name,
                "question": one.key,
                "text": one.question.text,
                "category": one.stratum,
            }
            key.append(
                {
                    **row,
                    "gold": one.question.answer,
                    "evidence": one.evidence,
                    "tokens": estimate_tokens(text),
                }
            )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, rows in enumerate(files, 1):
        order.shuffle(rows)
        written.append(write_lines(folder / f"reader-{number}.jsonl", rows))
    (folder / KEY).write_text(
        json.dumps({"systems": names, "rows": key}, indent=1, ensure_ascii=False), "utf-8"
    )
    return written


def read_key(folder: Path) -> list[AskedRow]:
    """Rows of the key, those of the first system first."""
    raw = json.loads((folder / KEY).read_text("utf-8"))
    rows = [AskedRow(**{**row, "evidence": tuple(row["evidence"])}) for row in raw["rows"]]
    return sorted(rows, key=lambda row: raw["systems"].index(row.system))


def write_sheet(folder: Path) -> tuple[Path, int]:
    """Write a judge's sheet from the readers' answers, in the order of the ids;
    also count what is missing.
    """
    key = read_key(folder)
    answers = read_values(folder, "answers", "answer")
    rows = [
        {
            "id": row.id,
            "question": row.text,
            "gold": row.gold,
            "evidence": list(row.evidence),
            "answer": answers[row.id],
        }
        for row in sorted(key, key=lambda row: row.id)
        if row.id in answers
    ]
    return write_lines(folder / SHEET, rows), len(key) - len(rows)


def read_contexts(folder: Path) -> dict[str, str]:
    return {
        row["id"]: row["context"]
        for path in sorted(folder.glob("reader-*.jsonl"))
        for row in read_lines(path)
    }


def read_values(folder: Path, name: str, field: str) -> dict[str, Any]:
    """Values by id of all files ``name*.jsonl``.

    SystemExit: no such file, an id that the key lacks, or a line without the field.
    """
    known = {row.id for row in read_key(folder)}
    paths = sorted(folder.glob(f"{name}*.jsonl"))
    if not paths:
        raise SystemExit(
            f"{folder} has no {name}*.jsonl: lines of {{'id': …, '{field}': …}} belong there"
        )
    found = {}
    for path in paths:
        for row in read_lines(path):
            if row.get("id") not in known or field not in row:
                raise SystemExit(
                    f"{path}: a line needs an id of this run and {field!r}, not {str(row)[:100]}"
                )
            found[row["id"]] = row[field]
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path
