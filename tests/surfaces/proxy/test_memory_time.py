"""Memory at the proxy within its time: an embedder that is late or down costs words, not memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.acceptance.process import Door, eventually, served

from engrams.testing import ScriptedModel

SECONDS = 1.5
QUESTION = "Which pizza do I love?"


def options(model: ScriptedModel, *more: str) -> list[str]:
    texts = [
        f"serve.upstream={model.url}/v1",
        "serve.upstream_learns=false",
        "embed.provider=openai",
        f"embed.url={model.url}/v1",
        "embed.model=scripted",
        *more,
    ]
    return [part for text in texts for part in ("--set", text)]


def slow_down(model: ScriptedModel, seconds: float) -> None:
    model.fail("hang", times=999, seconds=seconds, only="embeddings")


def teach(door: Door) -> None:
    door.chat("I love pizza with olives.")
    eventually(lambda: not door.get("/v1/jobs")["jobs"].get("embed", {}).get("waiting"))


def ask(door: Door, question: str = QUESTION) -> tuple[str, float]:
    """Ask in a conversation of its own; return the header and the seconds to the first byte."""
    start = time.monotonic()
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}
    with door.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        seconds = time.monotonic() - start
        list(pieces)
    return answer.headers["x-engrams-memory"], seconds


@pytest.mark.parametrize(
    "delay",
    [
        0.25,
        pytest.param(1.0, marks=pytest.mark.slow),
        pytest.param(0.1, marks=pytest.mark.slow),
        pytest.param(0.5, marks=pytest.mark.slow),
        pytest.param(5.0, marks=pytest.mark.slow),
    ],
)
def test_a_slow_embedder_costs_no_memory(tmp_path: Path, delay: float) -> None:
    """Every request has its memory, by words at least, within ``serve.memory_seconds``."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        served("proxy", tmp_path, model, *options(model)) as door,
    ):
        teach(door)
        slow_down(model, delay)
        answers = [ask(door, f"{QUESTION} {number}") for number in range(4)]
        notes = [note for note, _ in answers]
        assert "olives" in door.sent()
        if delay < SECONDS - 0.4:
            assert all(note.startswith("used:") and note != "used:0" for note in notes), notes
        else:
            assert {note.rpartition(":")[2] for note in notes} <= {"embedder_late"}, notes
            assert not any(note.startswith("partial:0") for note in notes), notes
            # Late twice in a row: it is not waited for any longer.
            assert answers[-1][1] < SECONDS / 2
        assert max(seconds for _, seconds in answers) < SECONDS + 0.5
        metrics = door.client.get("/metrics").text
        result = notes[-1].partition(":")[0]
        assert 'engrams_chat_memory_total{reason="' in metrics
        assert f'result="{result}"' in metrics


def test_an_embedder_that_is_down_costs_one_failure(tmp_path: Path) -> None:
    """After the first failure no request waits for it; when it is back, it is used again."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        served("proxy", tmp_path, model, *options(model)) as door,
    ):
        teach(door)
        model.fail("http_500", times=9999, only="embeddings")
        answers = [ask(door, f"{QUESTION} {number}") for number in range(6)]
        assert [note.rpartition(":")[2] for note, _ in answers] == ["embedder_down"] * 6
        assert not any(note.startswith("partial:0") for note, _ in answers)
        assert answers[0][1] < SECONDS + 0.5
        asked = [str(request.body) for request in model.requests if request.route == "embeddings"]
        assert not [
            text for text in asked for number in range(1, 6) if f"{QUESTION} {number}" in text
        ]
        assert "olives" in door.sent()
        model.heal()
        deadline = time.monotonic() + 30
        note = ""
        while not note.startswith("used:") and time.monotonic() < deadline:
            time.sleep(0.5)
            note, _ = ask(door, f"{QUESTION} {time.monotonic()}")
        assert note.startswith("used:")


@pytest.mark.slow
def test_the_time_is_a_setting(tmp_path: Path) -> None:
    """With less time the embedder is done without earlier."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        served("proxy", tmp_path, model, *options(model, "serve.memory_seconds=0.4")) as door,
    ):
        teach(door)
        slow_down(model, 1.0)
        note, seconds = ask(door)
        assert note.endswith(":embedder_late")
        assert seconds < 0.9


@pytest.mark.slow
def test_a_search_without_vectors_says_so(tmp_path: Path) -> None:
    """An embedder that hangs is not waited for until its own time-out, and the result says so."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        served("proxy", tmp_path, model, *options(model, "embed.query_seconds=0.5")) as door,
    ):
        teach(door)
        slow_down(model, 6)
        start = time.monotonic()
        answer = door.client.post("/v1/search", json={"query": QUESTION})
        assert answer.status_code == 200, answer.text
        assert time.monotonic() - start < 3
        assert "olives" in answer.text
        assert "the embedder was late" in answer.text
        text = door.run("search", QUESTION, *options(model, "embed.query_seconds=0.5"))
        assert "olives" in text
        assert "the embedder was late" in text


@pytest.mark.slow
def test_a_late_reranker_has_what_is_left(tmp_path: Path) -> None:
    """A reranker that takes longer than the rest of the time changes no order, and is named."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        served(
            "proxy",
            tmp_path,
            model,
            *options(
                model,
                "rerank.provider=http",
                f"rerank.url={model.url}/v1",
                "rerank.seconds=5",
                "rerank.turns_only=false",
            ),
        ) as door,
    ):
        teach(door)
        model.fail("hang", times=99, seconds=4, only="rerank")
        note, seconds = ask(door)
        assert note.endswith(":reranker_late")
        assert not note.startswith("partial:0")
        assert seconds < SECONDS + 0.5
