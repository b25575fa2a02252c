"""Embedding servers over real HTTP, good and bad."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engrams.errors import ModelError, SettingsError
from engrams.models.embed.remote import RemoteEmbedder

Connect = Callable[..., RemoteEmbedder]


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_unit_vectors_in_order(faults: Any, connect: Connect, provider: str) -> None:
    """Texts come back as unit float32 rows in their order, however many batches it took."""
    texts = ["x" * n for n in range(1, 11)]
    rows = connect(provider, batch_size=4).embed(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (10, 3)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows[:, 0] / rows[:, 1], range(1, 11), rtol=1e-4)
    assert [len(batch) for batch in faults.texts] == [4, 4, 2]
    assert faults.seen[0][0] == ("/v1/embeddings" if provider == "openai" else "/api/embed")


@pytest.mark.parametrize(("packed", "shuffled"), [(True, False), (False, True), (True, True)])
def test_base64_and_out_of_order(
    faults: Any, connect: Connect, packed: bool, shuffled: bool
) -> None:
    """Vectors as base64, and rows in another order than asked, are understood."""
    faults.packed = packed
    faults.shuffled = shuffled
    rows = connect().embed(["a", "bbbb"])
    assert np.allclose(rows[:, 0] / rows[:, 1], [1, 4])


def test_key_model_and_dimension_are_sent(faults: Any, connect: Connect) -> None:
    """The request names the model, the key and the dimension asked for."""
    embedder = connect(api_key="k", dimension=3)
    embedder.embed(["a"])
    _, body, headers = faults.seen[0]
    assert body == {"model": "m", "input": ["a"], "dimensions": 3}
    assert headers["authorization"] == "Bearer k"
    assert embedder.card.id == "openai:m@3"


@pytest.mark.covers("S0.6")
def test_query_prefix_for_queries_only(faults: Any, connect: Connect) -> None:
    """A query gets the model's or the set prefix, a document does not;
    an empty setting turns it off.
    """
    connect(model="nomic-embed-text", dimension=3).embed(["a"], "query")
    connect(query_prefix="ask: ").embed(["a"], "query")
    connect(query_prefix="ask: ").embed(["a"], "document")
    connect(model="nomic-embed-text", query_prefix="", dimension=3).embed(["a"], "query")
    assert faults.texts == [["search_query: a"], ["ask: a"], ["a"], ["a"]]


def test_dimension_is_learned_once(faults: Any, connect: Connect) -> None:
    """Where nothing tells the dimension it is -1 until the first answer;
    another one later is an error.
    """
    embedder = connect()
    assert embedder.card.dimension == -1
    assert embedder.embed([]).shape == (0, 0)
    embedder.embed(["a"])
    assert embedder.card.dimension == 3
    faults.dimension = 4
    with pytest.raises(ModelError, match="wrong dimension: 4 instead of 3") as caught:
        embedder.embed(["b"])
    assert not caught.value.retryable
    assert "embed.dimension" in caught.value.hint


def test_wrong_dimension_of_a_set_one(faults: Any, connect: Connect) -> None:
    """A server that ignores the dimension asked for is refused."""
    with pytest.raises(ModelError, match="wrong dimension: 3 instead of 256"):
        connect(dimension=256).embed(["a"])


def test_blank_texts_are_not_sent(faults: Any, connect: Connect) -> None:
    """A blank text has a row of zeros, and a server that refuses empty input never sees one."""
    rows = connect().embed(["", "a", " \n", "b"])
    assert faults.texts == [["a", "b"]]
    assert [bool(row.any()) for row in rows] == [False, True, False, True]


def test_hostile_texts_are_sent(faults: Any, connect: Connect) -> None:
    """NUL, lone surrogates and emoji go through."""
    assert connect().embed(["a\x00b", "x\ud800y", "👍🏽", "\u202eabc"]).shape == (4, 3)


def test_too_long_text_does_not_spoil_its_batch(faults: Any, connect: Connect) -> None:
    """What the server finds too long is embedded by its beginning;
    the other texts of the batch are whole.
    """
    faults.longest = 1000
    rows = connect().embed(["short", "x" * 100_000, "é" * 3000, "end"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    accepted = [
        text
        for batch in faults.texts
        for text in batch
        if all(len(text.encode()) <= 1000 for text in batch)
    ]
    assert "short" in accepted
    assert "end" in accepted
    assert max(len(text.encode()) for batch in faults.texts for text in batch) <= 16_000


def test_retried_until_it_works(faults: Any, connect: Connect) -> None:
    """429, 500 and a cut connection are tried again."""
    faults.script = [
        lambda handler, _: handler.give(429, {"error": {"message": "slow down"}}, Retry_After="0"),
        lambda handler, _: handler.give(500, b"<html>"),
        lambda handler, _: handler.connection.close(),
    ]
    assert connect().embed(["a"]).shape == (1, 3)
    assert len(faults.seen) == 4


def test_gives_up(faults: Any, connect: Connect) -> None:
    """A server that keeps failing is given up after three retries of a document and one of a query."""
    faults.script = [lambda handler, _: handler.give(503, {})] * 20
    with pytest.raises(ModelError) as caught:
        connect().embed(["a"])
    assert caught.value.retryable
    assert len(faults.seen) == 4
    with pytest.raises(ModelError):
        connect().embed(["a"], "query")
    assert len(faults.seen) == 6


def test_long_retry_after_is_passed_on(faults: Any, connect: Connect) -> None:
    """A server that asks for an hour is not waited for; the error says how long."""
    faults.script = [lambda handler, _: handler.give(429, {}, Retry_After="3600")]
    with pytest.raises(ModelError) as caught:
        connect().embed(["a"])
    assert caught.value.retryable
    assert caught.value.retry_after == 3600
    assert len(faults.seen) == 1


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "embed.api_key"), (403, "key"), (404, "embed.model")]
)
def test_refusals_are_final(faults: Any, connect: Connect, status: int, hint: str) -> None:
    """A wrong key or model fails at once, with what to do, and without the server's prose."""
    faults.script = [
        lambda handler, _: handler.give(
            status, {"error": {"message": "secret text", "code": "nope"}}
        )
    ]
    with pytest.raises(ModelError, match=f"{status} \\(nope\\)") as caught:
        connect().embed(["a"])
    assert not caught.value.retryable
    assert hint in caught.value.hint
    assert "secret" not in str(caught.value)
    assert len(faults.seen) == 1


def test_spent_quota_is_final(faults: Any, connect: Connect) -> None:
    """A 429 for want of credit is not waited for."""
    faults.script = [
        lambda handler, _: handler.give(429, {"error": {"code": "insufficient_quota"}})
    ]
    with pytest.raises(ModelError, match="insufficient_quota") as caught:
        connect().embed(["a"])
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "body",
    [
        b"", b"not json", b"[]", b"null", {"data": []}, {"data": [1]}, {"data": [{"index": 0}]}, {"data": "x"}, {"wrong": 1},
        {"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 3]}]},
        {"data": [{"index": 7, "embedding": [1, 2, 3]}]}, {"data": [{"index": 0, "embedding": ["a", "b"]}]},
        {"data": [{"index": 0, "embedding": [[1], [2]]}]}, {"data": [{"index": 0, "embedding": "!!!"}]},
        {"data": [{"index": 0, "embedding": [0, 0, 0]}]}, {"data": [{"index": 0, "embedding": [1, 1e400, 1]}]},
        b'{"data": [{"index": 0, "embedding": [1, NaN, 1]}]}', {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 0, "embedding": []}]},
    ],
)  # fmt: skip
def test_answers_that_are_none(faults: Any, connect: Connect, body: Any) -> None:
    """An answer that is no list of as many finite vectors is an error, not a wrong vector."""
    faults.script = [lambda handler, _: handler.give(200, body)] * 5
    with pytest.raises(ModelError):
        connect().embed(["a"])


def test_hanging_server(faults: Any, connect: Connect) -> None:
    """A server that never answers costs a query its time-out, no more."""
    faults.script = [lambda handler, _: faults.hang.wait(10)] * 3
    with pytest.raises(ModelError, match=r"within 0\.2 seconds") as caught:
        connect(timeout_seconds=0.2).embed(["a"], "query")
    assert caught.value.retryable


def test_nobody_listens(connect: Connect) -> None:
    """No server at the address: a retryable error that names it."""
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9") as caught:
        connect(url="http://127.0.0.1:9").embed(["a"])
    assert caught.value.retryable


def test_closing_ends_a_call(faults: Any, connect: Connect) -> None:
    """Closing from another thread ends a waiting call with an error."""
    request_arrived = threading.Event()

    def hang(handler: Any, _: Any) -> None:
        request_arrived.set()
        faults.hang.wait(10)

    faults.script = [hang]
    embedder = connect()
    caught: list[Exception] = []

    def call() -> None:
        try:
            embedder.embed(["a"])
        except ModelError as problem:
            caught.append(problem)

    thread = threading.Thread(target=call)
    thread.start()
    assert request_arrived.wait(5)
    embedder.close()
    thread.join(5)
    assert not thread.is_alive()
    assert caught


def test_unusable_address(connect: Connect) -> None:
    """An address that is none is a wrong setting, before anything is called."""
    with pytest.raises(SettingsError):
        connect(url="localhost:11434")
