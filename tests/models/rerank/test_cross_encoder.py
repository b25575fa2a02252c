"""The cross-encoder, with a real ONNX model of seven words."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engrams.errors import ExtraError, ModelError
from engrams.models.rerank.cross_encoder import CrossEncoderReranker
from engrams.ports import RerankRequest

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

_SPEC = importlib.util.spec_from_file_location("tiny_graph", Path(__file__).with_name("graph.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
graph = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(graph)

WEIGHTS = {"lisbon": 2.0, "lives": 1.0, "cat": -3.0, "query": 50.0, "东": 1.5, "🙂": 0.5}


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graph.write(tmp_path_factory.mktemp("tiny"), WEIGHTS)


@pytest.mark.covers("S2.27")
def test_relevance_is_the_sigmoid_of_the_logit(folder: Path) -> None:
    """Each score is sigmoid(logit) of its own pair;
    the query's words, padding and special tokens add nothing.
    """
    texts = ("Lives in Lisbon", "a cat", "nothing known", "Lisbon Lisbon Lisbon cat", "")
    scores = CrossEncoderReranker(str(folder)).rank(RerankRequest("query query", texts, 60))
    assert scores == pytest.approx([sigmoid(3), sigmoid(-3), 0.5, sigmoid(3), 0.5])


@pytest.mark.covers("S2.27")
def test_scores_are_absolute(folder: Path) -> None:
    """A text's score is the same alone, among others and in any batch, so that one threshold means
    one thing.
    """
    model = CrossEncoderReranker(str(folder), batch=3)
    texts = ("Lisbon", "cat", "lives", "cat cat cat", "Lisbon lives", "word", "lives " * 50)
    together = model.rank(RerankRequest("query", texts, 60))
    alone = [model.rank(RerankRequest("query", (text,), 60))[0] for text in texts]
    assert together == pytest.approx(alone)
    assert [
        text
        for text, score in zip(texts, together, strict=True)
        if score is not None and score < 0.35
    ] == ["cat", "cat cat cat"]


def test_two_classes_are_a_softmax(tmp_path: Path) -> None:
    """A model with a class for no and one for yes gives the probability of yes."""
    model = CrossEncoderReranker(str(graph.write(tmp_path, WEIGHTS, head="two")))
    assert model.rank(RerankRequest("q", ("lives", "cat"), 60)) == pytest.approx(
        [sigmoid(2), sigmoid(-6)]
    )


@pytest.mark.parametrize("head", ["many", "nan"])
def test_a_model_of_another_kind_is_named(tmp_path: Path, head: str) -> None:
    """An embedding model, or one that gives no numbers, is a permanent ModelError and no score."""
    with pytest.raises(ModelError) as caught:
        CrossEncoderReranker(str(graph.write(tmp_path, WEIGHTS, head=head))).rank(
            RerankRequest("q", ("lives in lisbon",), 60)
        )
    assert not caught.value.retryable
    assert caught.value.hint


def test_what_the_time_did_not_reach_has_no_score(folder: Path) -> None:
    """Batches are scored in order until the time is up;
    the rest is None, and nothing is scored twice.
    """
    ticks = itertools.count()
    model = CrossEncoderReranker(str(folder), batch=2, timer=lambda: float(next(ticks)))
    scores = model.rank(RerankRequest("q", ("lives",) * 7, 4.5))
    assert scores == (*[pytest.approx(sigmoid(1))] * 4, None, None, None)
    assert model.rank(RerankRequest("q", ("lives",), 0)) == (None,)
    assert model.rank(RerankRequest("q", (), 9)) == ()


def test_odd_text_is_scored(folder: Path) -> None:
    """NULs, lone surrogates, other scripts and huge texts are text like any other;
    only the first 600 characters count.
    """
    model = CrossEncoderReranker(str(folder))
    texts = ("\0", "\ud800 lives", "东", "🙂", "עברית", "x" * 600 + " cat", "lives " * 100_000)
    scores = model.rank(RerankRequest("\ud800\0" * 9000, texts, 60))
    assert scores[:6] == pytest.approx([0.5, sigmoid(1), sigmoid(1.5), sigmoid(0.5), 0.5, 0.5])
    assert scores[6] == pytest.approx(1.0)


def test_threads_share_a_model(folder: Path) -> None:
    """Eight threads load it once and get their own scores."""
    model = CrossEncoderReranker(str(folder))
    texts = tuple(WEIGHTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: model.rank(RerankRequest("q", texts, 60)), range(24)))
    assert all(
        result == pytest.approx([sigmoid(weight) for weight in WEIGHTS.values()])
        for result in results
    )


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path) -> None:
    """An empty folder, damaged files and a name that cannot be fetched are ModelErrors that say
    what to do.
    """
    damaged = graph.write(tmp_path / "damaged", WEIGHTS)
    (damaged / "model.onnx").write_bytes(b"not a model")
    silent = graph.write(tmp_path / "silent", WEIGHTS)
    (silent / "tokenizer.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    for folder in (
        str(tmp_path / "empty"),
        str(damaged),
        str(silent),
        "nobody/no-such-model",
        "../../etc",
        "a b c",
        "",
    ):
        with pytest.raises(ModelError) as caught:
            CrossEncoderReranker(folder).warm()
        assert caught.value.hint


def test_without_the_extra_it_says_which_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where onnxruntime is not installed, the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraError) as caught:
        CrossEncoderReranker(str(folder)).warm()
    assert "local" in caught.value.hint
