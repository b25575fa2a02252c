"""The memory engine's document (001): long conversations within a budget, by the engine with that
preset and a scripted model.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import Kind
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def answer(request: ReceivedModelRequest) -> Any:
    """A model that numbers its summaries, and finds nothing to remember."""
    if request.schema is not None:
        return {"statements": []}
    return "SUMMARY one" if "SUMMARY one" not in request.prompt else "SUMMARY two"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=answer) as server:
        yield server


@pytest.fixture
def engine(home: Path, model: ScriptedModel) -> Iterator[MemoryEngine]:
    with engrams.open(
        home=home,
        preset="engine",
        clock=SettableClock(START),
        jobs__workers=0,
        chat__provider="openai",
        chat__model="m",
        chat__url=f"{model.url}/v1",
        summary__max_tokens=300,
        summary__tokens=60,
    ) as made:
        yield made


def said(*numbers: int) -> list[dict[str, Any]]:
    return [
        {"id": f"m{number}", "role": "user", "content": f"turn {number} " + "word " * 20}
        for number in numbers
    ]


def fit(engine: MemoryEngine, messages: list[dict[str, Any]]) -> Any:
    return engine.summaries.fit(messages, scope=ANN, session="s")


def summary_prompts(model: ScriptedModel) -> list[str]:
    return [request.prompt for request in model.requests if request.schema is None]


@pytest.mark.covers("S1.5", "S1.6")
def test_only_what_is_new_is_summarised(engine: MemoryEngine, model: ScriptedModel) -> None:
    """The second summary is made of the first and of what came since; the first turn is put to the
    model once, and the system message never.
    """
    lead = {"id": "sys", "role": "system", "content": "be very kind"}
    first = fit(engine, [lead, *said(*range(10))])
    assert first.summary == "SUMMARY one"
    second = fit(engine, [lead, *said(*range(17))])
    assert second.summary == "SUMMARY two"
    one, two = summary_prompts(model)
    assert "turn 0 " in one
    assert "turn 0 " not in two
    assert "SUMMARY one" in two
    assert "be very kind" not in one + two
    assert second.messages[0] == lead
    assert "SUMMARY two" in second.messages[1]["content"]


@pytest.mark.covers("S1.7")
def test_a_call_and_its_results_go_together(engine: MemoryEngine) -> None:
    """Wherever the cut falls, a result of a tool never stands without the call before it."""
    calls = [
        message
        for number in range(8)
        for message in (
            {
                "id": f"c{number}",
                "role": "assistant",
                "content": f"look {number} " + "deep " * 60,
                "tool_calls": [{"id": f"t{number}", "function": {"name": "look"}}],
            },
            {
                "id": f"r{number}",
                "role": "tool",
                "tool_call_id": f"t{number}",
                "content": "word " * 35,
            },
        )
    ]
    for end in range(4, len(calls) + 1):
        fitted = fit(engine, [*said(100), *calls[:end]]).messages
        called = {call["id"] for message in fitted for call in message.get("tool_calls") or ()}
        results = {message["tool_call_id"] for message in fitted if message["role"] == "tool"}
        assert results <= called


@pytest.mark.covers("S1.8")
def test_a_message_is_summarised_once(engine: MemoryEngine) -> None:
    """An id that the summary covers, behind the last one, is refused."""
    fit(engine, said(*range(10)))
    with pytest.raises(ValueError, match="summarised before"):
        fit(engine, [*said(*range(1, 20)), *said(0), *said(*range(20, 30))])


@pytest.mark.covers("S1.10")
def test_what_does_not_fit_is_flushed_before_it_is_dropped(home: Path) -> None:
    """Without a model the oldest half of the turns goes, into memory and the note of the day first;
    results of tools are cut to 20,000 characters.
    """
    with engrams.open(
        home=home,
        preset="engine",
        clock=SettableClock(START),
        jobs__workers=0,
        summary__max_tokens=12_000,
        summary__tokens=60,
    ) as engine:
        tool = {"id": "t", "role": "tool", "tool_call_id": "x", "content": "z" * 30_000}
        long = [
            {"id": f"m{n}", "role": "user", "content": f"My boat number {n} is red. " + "w " * 900}
            for n in range(12)
        ]
        fitted = fit(engine, [*long, tool])
        assert len(fitted.messages[-1]["content"]) == 20_000
        assert fitted.dropped
        dropped = {message["id"] for message in fitted.dropped}
        stored = engine.list(scope=ANN, kinds=(Kind.TURN,), limit=50).records
        assert {record.external_id for record in stored} >= dropped
        engine.drain()
        note = home / "vault/memory/users/ann/2026-03-01.md"
        assert "overflow" in note.read_text("utf-8")
