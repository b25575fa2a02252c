"""Rerank servers, over real HTTP, and the choice of a reranker."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest

from engrams.errors import ModelError, SettingsError
from engrams.models.rerank.factory import RerankerChoice, build_reranker
from engrams.models.rerank.http import HttpReranker
from engrams.ports import RerankRequest
from engrams.testing import ScriptedModel, SettableClock

CLOCK = SettableClock()
TEXTS = ("the cat sleeps", "Alice lives in Lisbon", "where in Lisbon does Alice live", "")


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def reranker(server: ScriptedModel, **options: str) -> HttpReranker:
    return HttpReranker(options.pop("model", "m"), f"{server.url}/v1", CLOCK, **options)


def test_scores_come_back_in_the_order_of_the_texts(server: ScriptedModel) -> None:
    """The server sorts by relevance;
    the answer is by text, absolute, and only the tail of the query was sent.
    """
    scores = reranker(server, key="k").rank(
        RerankRequest("x" * 5000 + " where does Alice live", (*TEXTS, "y" * 900), 5)
    )
    assert len(scores) == 5
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores[2] > scores[1] > scores[0]
    request = server.requests[0]
    assert request.path == "/v1/rerank"
    assert request.headers["authorization"] == "Bearer k"
    assert len(request.body["query"]) == 4000
    assert request.body["query"].endswith("where does Alice live")
    assert request.body["documents"][-1] == "y" * 600


def test_logits_are_made_absolute(server: ScriptedModel) -> None:
    """A server that gives logits is noticed by a score outside 0..1 and stays noticed."""
    server.score = lambda query, text: 2.0 if "Lisbon" in text else 0.5
    model = reranker(server)
    assert model.rank(RerankRequest("q", ("cat",), 5)) == (0.5,)
    assert model.rank(RerankRequest("q", ("cat", "Lisbon"), 5)) == pytest.approx(
        (1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(-2)))
    )
    assert model.rank(RerankRequest("q", ("cat",), 5)) == pytest.approx((1 / (1 + math.exp(-0.5)),))


def test_a_late_answer_is_no_opinion(server: ScriptedModel) -> None:
    """When the time is too short every score is None; that is no error."""
    server.fail("hang").fail("slow", seconds=0.05)
    model = reranker(server)
    assert model.rank(RerankRequest("q", TEXTS, 0.1)) == (None,) * 4
    assert model.rank(RerankRequest("q", TEXTS, 0.1)) == (None,) * 4
    assert model.rank(RerankRequest("q", TEXTS, 0)) == (None,) * 4
    assert model.rank(RerankRequest("q", (), 1)) == ()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("empty", (None,) * 4),
        ("bad_json", (None,) * 4),
        ("wrong_ids", (None,) * 4),
        ("truncated", "one missing"),
        ("html", "error"),
        ("http_500", "error"),
        ("http_429", "error"),
        ("http_401", "error"),
        ("reset", "error"),
        ("disconnect", "error"),
    ],
)
def test_a_failing_server(server: ScriptedModel, fault: str, outcome: object) -> None:
    """Results that are missing or name other texts are None;
    a failure is a ModelError; the next call is right.
    """
    server.fail(fault)
    model = reranker(server)
    if outcome == "error":
        with pytest.raises(ModelError) as caught:
            model.rank(RerankRequest("q", TEXTS, 5))
        assert caught.value.retryable is (fault != "http_401")
    else:
        scores = model.rank(RerankRequest("where does Alice live", TEXTS, 5))
        assert scores == outcome or sum(score is None for score in scores) == 1
    assert None not in model.rank(RerankRequest("q", TEXTS, 5))


@pytest.mark.parametrize(
    ("body", "scores"),
    [
        (
            {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0}]},
            (0.0, 0.9),
        ),
        ({"data": [{"index": 1, "score": 0.9}]}, (None, 0.9)),
        ([{"index": 0, "score": 0.25}, {"index": 1, "score": 1}], (0.25, 1.0)),
        (
            {
                "results": [
                    {"index": "0", "relevance_score": 1},
                    {"index": -1, "relevance_score": 1},
                    {"index": 2, "relevance_score": 1},
                ]
            },
            (None, None),
        ),
        (
            {
                "results": [
                    {"index": 0, "relevance_score": "high"},
                    {"index": 1, "relevance_score": math.nan},
                    "x",
                    None,
                ]
            },
            (None, None),
        ),
        ({"results": []}, (None, None)),
    ],
)
def test_dialects_of_the_answer(
    server: ScriptedModel, body: object, scores: tuple[float | None, ...]
) -> None:
    """Cohere's, Jina's and text-embeddings-inference's answers are read;
    what names no text or holds no number is None.
    """
    model = reranker(server)
    assert (
        tuple(
            model._to_relevance(
                dict(model._read_scores(json.loads(json.dumps(body)), 2)).get(index)
            )
            for index in range(2)
        )
        == scores
    )


def test_a_choice_becomes_a_reranker(server: ScriptedModel, tmp_path) -> None:
    """Each provider gives its reranker without loading or calling anything;
    what is missing is a settings error.
    """
    assert build_reranker(RerankerChoice(), CLOCK) is None
    assert build_reranker(RerankerChoice("listwise"), CLOCK).name == "listwise:none"
    assert (
        build_reranker(RerankerChoice("cross_encoder", model=str(tmp_path / "tiny")), CLOCK).name
        == "cross_encoder:tiny"
    )
    for url in (server.url, f"{server.url}/rerank", f"{server.url}/v1/"):
        assert None not in build_reranker(RerankerChoice("http", url=url), CLOCK).rank(
            RerankRequest("q", TEXTS, 5)
        )
    assert server.requests[1].path == "/rerank"
    for choice in (
        RerankerChoice("http"),
        RerankerChoice("cross_encoder"),
        RerankerChoice("http", url="nonsense"),
    ):
        with pytest.raises(SettingsError) as caught:
            build_reranker(choice, CLOCK)
        assert caught.value.hint
    assert "secret" not in repr(RerankerChoice("http", key="secret"))
