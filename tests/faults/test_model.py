"""Every way in which a model fails, at every place where one is asked:
no turn is lost, the failure is seen, and work is done later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import engrams
from engrams.core import Kind, Status, Turn
from engrams.testing import ReceivedModelRequest, ScriptedFault, ScriptedModel, SettableClock

OWNER = ("user", "ada")
FIRST = "I live in Paris near the river"
SECOND = "I moved to Berlin in the spring"
STAGES = {
    "extract": "Below are numbered messages",
    "policy": "You decide what an assistant may remember",
    "reconcile": "how it meets what is known",
}
FAULTS = (
    "bad_json",
    "fenced",
    "truncated",
    "wrong_ids",
    "deletes_only",
    "empty",
    "http_429",
    "http_500",
    "hang",
    "refused",
    "reset",
    "html",
)


def answer(request: ReceivedModelRequest) -> dict[str, Any]:
    """A model that does its work:
    one statement a message, all committed, the later home replacing the earlier.
    """
    prompt = request.prompt
    if STAGES["policy"] in prompt:
        return {"rulings": [{"id": 1, "action": "commit_now", "reason": "plainly stated"}]}
    if STAGES["reconcile"] in prompt:
        return {"decisions": [{"new": 1, "verdict": "replace", "known": [1], "reason": "moved"}]}
    said = [
        (city, quote)
        for city, quote in (("Paris", "I live in Paris"), ("Berlin", "I moved to Berlin"))
        if quote in prompt.split("The messages:")[-1]
    ]
    return {
        "statements": [
            {
                "turn": 1,
                "text": f"The user lives in {city}.",
                "quote": quote,
                "subject": "user",
                "predicate": "lives_in",
                "object": city,
                "kind": "fact",
                "confidence": 0.9,
                "importance": 0.7,
            }
            for city, quote in said
        ]
    }


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=answer) as made:
        yield made


@pytest.fixture
def ticker() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))


@pytest.fixture
def memory(
    model: ScriptedModel, ticker: SettableClock, home: Any
) -> Iterator[engrams.MemoryEngine]:
    given: dict[str, Any] = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__timeout_seconds": 0.3,
        "chat__retries": 0,
    }
    with engrams.open(
        home=home,
        clock=ticker,
        jobs__workers=0,
        jobs__max_attempts=2,
        write__policy="llm",
        write__debounce_seconds=0,
        **given,
    ) as made:
        yield made


def settle(memory: engrams.MemoryEngine, ticker: SettableClock) -> None:
    """Let everything run that is due now or within some hours, as the workers would."""
    for _ in range(6):
        memory.drain(timeout=20)
        ticker.forward(hours=2)


def homes(memory: engrams.MemoryEngine, *statuses: Status) -> list[str]:
    page = memory.list(scope=OWNER, kinds=(Kind.FACT,), statuses=statuses or (Status.ACTIVE,))
    return sorted(re.findall("Paris|Berlin", " ".join(record.text for record in page.records)))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.covers("S1.14", "S1.28", "S2.42", "S2.43")
def test_no_failure_of_a_model_loses_anything(
    memory: engrams.MemoryEngine,
    model: ScriptedModel,
    ticker: SettableClock,
    stage: str,
    fault: str,
) -> None:
    """The turn is found at once;
    what the model failed at waits as a visible job or was done without it; once it is well, all is
    known.
    """
    memory.observe(Turn(FIRST), scope=OWNER)
    settle(memory, ticker)
    assert homes(memory) == ["Paris"]
    if fault == "refused":
        with model.down():
            (receipt,) = memory.observe(Turn(SECOND), scope=OWNER)
            settle(memory, ticker)
            seen = memory.status()
    else:
        model.fail(ScriptedFault(fault), times=1000, when=STAGES[stage])
        (receipt,) = memory.observe(Turn(SECOND), scope=OWNER)
        settle(memory, ticker)
        seen = memory.status()
    assert receipt.id in [
        hit.record.id for hit in memory.search("moved to Berlin", scope=OWNER).hits
    ]
    told = {"Berlin"} & {*homes(memory), *homes(memory, Status.CANDIDATE)}
    failed = [job for job in seen["dead"] if job["error"]]
    assert told or failed, f"Berlin is neither known nor waiting: {seen}"
    model.heal()
    memory.retry()
    settle(memory, ticker)
    assert memory.status()["dead"] == []
    known = homes(memory)
    held = homes(memory, Status.CANDIDATE)
    assert known.count("Berlin") + held.count("Berlin") == 1, (known, held)
    assert known.count("Paris") <= 1
    turns = memory.list(scope=OWNER, kinds=(Kind.TURN,)).records
    assert sorted(turn.text for turn in turns) == sorted((FIRST, SECOND))
