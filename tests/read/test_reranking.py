"""Reranking at the public API: what the model of a rerank server sees, and what it changes."""

from __future__ import annotations

import time
from pathlib import Path

import engrams
from engrams import Turn
from engrams.core import Scope
from engrams.ports import RerankRequest
from engrams.ports.read_time import limit_read_time
from engrams.read.request import ReadRequest
from engrams.read.reranking import rerank_hits
from engrams.settings import RerankSettings
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


class WaitingReranker:
    """Reranker that notes how long it may take."""

    name = "waiting"

    def __init__(self) -> None:
        self.seconds = 0.0

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Judge nothing."""
        self.seconds = request.seconds
        return (None,) * len(request.texts)


def test_a_reranker_leaves_time_to_render(tmp_path: Path) -> None:
    """One that takes all that it may does not cost the request its memory."""
    reranker = WaitingReranker()
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        memory.add("My canoe is red.", scope=ANN)
        hits = memory.search("Which canoe is red?", scope=ANN).hits
        request = ReadRequest("Which canoe is red?", Scope(ANN), memory.now(), 10)
    with limit_read_time(time.monotonic() + 1.0):
        reranked = rerank_hits(request, hits, reranker, RerankSettings(seconds=5))
    assert 0 < reranker.seconds <= 0.75
    assert (reranked.hits, reranked.gap) == (list(hits), "reranker_late")
