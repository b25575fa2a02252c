"""Reranking at the public API: what the model of a rerank server sees, and what it changes."""

from __future__ import annotations

from pathlib import Path

import engrams
from engrams import Turn
from engrams.testing import ScriptedModel

ANN = ("user", "ann")


def test_a_reranker_reads_who_said_it(tmp_path: Path) -> None:
    """Questions ask by name, so that a text stands behind the name of its speaker."""
    with (
        ScriptedModel(score=lambda _, text: float(text.startswith("Bob: "))) as model,
        engrams.open(
            home=tmp_path,
            jobs__workers=0,
            rerank__provider="http",
            rerank__url=f"{model.url}/v1",
            rerank__turns_only=False,
            rerank__seconds=20,
        ) as memory,
    ):
        for speaker, text in (
            ("Eve", "The canoe is red, the canoe is mine."),
            ("Bob", "My canoe is older."),
        ):
            memory.observe([Turn(text, speaker=speaker, session=speaker)], scope=ANN)
        hits = memory.search("Which canoe is red?", scope=ANN, limit=2).hits
    assert [hit.record.speaker for hit in hits] == ["Bob", "Eve"]
