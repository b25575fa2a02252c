"""From settings to a model; the cache of queries; no model at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from engrams.errors import SettingsError
from engrams.models.embed.factory import choose_embedder
from engrams.models.embed.families import make_card
from engrams.models.embed.null import NullEmbedder
from engrams.models.embed.query_cache import QueryCachingEmbedder
from engrams.ports import EmbedderCard
from engrams.settings import EmbedSettings


class Counting:
    """A deterministic embedder that notes what it was asked."""

    card = EmbedderCard("counting", 2)

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> npt.NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], dtype=np.float32).reshape(-1, 2)


@pytest.mark.parametrize(
    ("values", "id"),
    [
        ({}, "builtin-256-1"),
        ({"provider": "null"}, "null"),
        (
            {"provider": "openai", "model": "text-embedding-3-small"},
            "openai:text-embedding-3-small",
        ),
        ({"provider": "openai", "url": "http://localhost:9/v1"}, "openai:localhost:9"),
        (
            {"provider": "ollama", "model": "nomic-embed-text:latest", "dimension": 256},
            "ollama:nomic-embed-text@256",
        ),
    ],
)
def test_each_provider(values: dict[str, Any], id: str) -> None:
    """The setting chooses the model; nothing is called, so no server has to be there."""
    assert choose_embedder(EmbedSettings(**values)).card.id == id


@pytest.mark.parametrize(
    "values",
    [
        {"provider": "onnx"},
        {"provider": "ollama"},
        {"provider": "openai"},
        {"provider": "openai", "url": "ftp://x"},
    ],
)
def test_missing_settings(values: dict[str, Any]) -> None:
    """A model or address that is missing or wrong is a settings error with a hint."""
    with pytest.raises(SettingsError) as caught:
        choose_embedder(EmbedSettings(**values))
    assert caught.value.hint


def test_known_cards() -> None:
    """Known names bring dimension and prefixes; unknown ones bring nothing, least of all floors."""
    assert make_card("x", "intfloat/multilingual-e5-small").document_prefix == "passage: "
    assert make_card("x", "BAAI/bge-large-zh-v1.5").query_prefix.startswith("为这个句子")
    assert make_card("x", "text-embedding-3-large").dimension == 3072
    assert make_card("x", "text-embedding-3-large", dimension=256).dimension == 256
    assert make_card("x", "sentence-transformers/all-MiniLM-L6-v2").floors
    unknown = make_card("x", "whatever")
    assert (unknown.dimension, unknown.query_prefix, dict(unknown.floors)) == (-1, "", {})
    assert make_card("x", "bge-small-en", query_prefix="").query_prefix == ""


@pytest.mark.covers("S4.39")
def test_null() -> None:
    """The null embedder has dimension 0 and gives rows without numbers."""
    model = NullEmbedder()
    assert model.card.dimension == 0
    assert model.embed(["a", "b"], "query").shape == (2, 0)


def test_queries_are_cached() -> None:
    """A query asked again costs nothing;
    duplicates in one call are embedded once; documents always are.
    """
    inner = Counting()
    model = QueryCachingEmbedder(inner, 2)
    assert model.embed(["a", "bb", "a"], "query").tolist() == [[1, 1], [2, 1], [1, 1]]
    assert model.embed(["bb"], "query").tolist() == [[2, 1]]
    assert inner.asked == [["a", "bb"]]
    model.embed(["a"], "document")
    assert len(inner.asked) == 2
    assert model.embed([], "query").shape == (0, 2)


def test_cache_keeps_the_latest() -> None:
    """The query used longest ago goes first;
    a cleared cache asks again; what is handed out is not the cache's own.
    """
    inner = Counting()
    model = QueryCachingEmbedder(inner, 2)
    for text in ("a", "bb", "a", "ccc"):
        model.embed([text], "query")
    model.embed(["a"], "query")[:] = 0
    assert model.embed(["a"], "query").tolist() == [[1, 1]]
    assert inner.asked == [["a"], ["bb"], ["ccc"]]
    model.embed(["bb"], "query")
    assert inner.asked[-1] == ["bb"]
    model.cache_clear()
    model.embed(["bb"], "query")
    assert len(inner.asked) == 5


def test_a_failed_query_is_not_cached() -> None:
    """After a failure the same query is asked again."""

    class Failing(Counting):
        def embed(
            self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
        ) -> npt.NDArray[np.float32]:
            vectors = super().embed(texts, purpose)
            if len(self.asked) == 1:
                raise RuntimeError("down")
            return vectors

    model = QueryCachingEmbedder(Failing())
    with pytest.raises(RuntimeError):
        model.embed(["a"], "query")
    assert model.embed(["a"], "query").tolist() == [[1, 1]]
