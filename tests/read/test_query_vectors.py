"""Vectors of queries: late ones are done without, a failure costs one wait, and both end."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from engrams.errors import ModelError
from engrams.ports import EmbedderCard
from engrams.ports.read_time import limit_read_time
from engrams.read.query_vectors import QueryVectors
from engrams.text.text_caches import clear_caches


class SlowEmbedder:
    """Embedder that takes ``seconds``, and fails while it is ``down``."""

    card = EmbedderCard("slow", 2)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.down = False
        self.calls = 0
        self.answered = threading.Event()

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Any:
        self.calls += 1
        time.sleep(self.seconds)
        self.answered.set()
        if self.down:
            raise ModelError("It is down.")
        return np.ones((len(texts), 2), np.float32)


def test_a_vector_that_came_late_is_there_the_next_time() -> None:
    """The read goes on without it; the same query has it, without another call."""
    embedder = SlowEmbedder(0.2)
    vectors = QueryVectors(embedder, 0.05)
    assert vectors.embed("tea").gap == "embedder_late"
    assert embedder.answered.wait(5)
    time.sleep(0.05)
    assert vectors.embed("tea").vector is not None
    assert embedder.calls == 1


def test_the_time_of_a_read_counts() -> None:
    """What is left of it bounds the wait, and leaves time for the search."""
    vectors = QueryVectors(SlowEmbedder(0.5), 5)
    start = time.monotonic()
    with limit_read_time(start + 0.2):
        assert vectors.embed("tea").gap == "embedder_late"
    assert time.monotonic() - start < 0.2
    assert vectors.embed("coffee").vector is not None


def test_a_failure_is_waited_for_once(monkeypatch: Any) -> None:
    """Then nobody waits, until a try in the background succeeds."""
    monkeypatch.setattr("engrams.read.query_vectors._FIRST_PAUSE", 0.1)
    embedder = SlowEmbedder()
    embedder.down = True
    vectors = QueryVectors(embedder)
    assert [vectors.embed(text).gap for text in ("a", "b", "c")] == ["embedder_down"] * 3
    assert embedder.calls == 1
    embedder.down = False
    end = time.monotonic() + 5
    while vectors.embed(f"try {time.monotonic()}").gap and time.monotonic() < end:
        time.sleep(0.05)
    assert vectors.embed("d").vector is not None


def test_a_purge_forgets_the_queries() -> None:
    """Queries are texts of memory."""
    embedder = SlowEmbedder()
    vectors = QueryVectors(embedder)
    vectors.embed("tea")
    clear_caches()
    vectors.embed("tea")
    assert embedder.calls == 2
