"""Sample conversation with questions, for a first try without data.

``sample.jsonl``: a year of two people, Mina and Theo, and their assistant Sol; one turn a line with
``id``, ``session``, ``at``, ``role``, ``speaker``, ``text`` and sometimes ``caption``.
``questions.json``: 25 questions, each with the ids of the turns that answer it (``evidence``; any
one of them will do), the ``answer``, and ``answerable``: false for what was never said.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoSampleQuestion:
    """Hold a question about the sample; unanswerable ones have no evidence."""

    id: str
    text: str
    evidence: tuple[str, ...]
    answer: str
    answerable: bool


def sample_path() -> Path:
    """Return the path of the conversation, ready for ``engine.load``."""
    return Path(str(resources.files(__name__) / "sample.jsonl"))


def load_questions() -> tuple[DemoSampleQuestion, ...]:
    """Load the questions, in the order of the file."""
    rows = json.loads((resources.files(__name__) / "questions.json").read_text("utf-8"))
    return tuple(DemoSampleQuestion(**{**row, "evidence": tuple(row["evidence"])}) for row in rows)
