"""Every way in which a model fails at telling what was said: the account of a session, its
summaries, the judgement of an item.

Nothing said depends on these: what fails waits as a visible job, or has a way that does without the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.faults.test_model import FAULTS

import engrams
from engrams import MemoryEngine
from engrams.core import Kind, Scope, Turn
from engrams.ports import CONDENSE, JUDGE, ROLL
from engrams.testing import (
    HashEmbedder,
    ReceivedModelRequest,
    ScriptedFault,
    ScriptedModel,
    SettableClock,
)

OWNER = ("user", "ada")
SAID = (
    "The boat leaves the harbour on Friday",
    "The boat needs a new sail before the harbour trip",
    "Tell Kim about the sail",
)
STAGES = {
    "account": "Write a short account of it",
    "rolling": "keep the summary of a conversation",
    "judge": "How much will it matter",
    "condense": "one short sentence",
}
UNREAD = frozenset(("bad_json", "fenced", "truncated", "wrong_ids", "deletes_only", "empty"))
"""Faults in what the model says.

A text or a number has no form that could be checked: what can be read of it counts.
"""


def answer(request: ReceivedModelRequest) -> Any:
    """A model that does its work."""
    prompt = request.prompt
    if STAGES["account"] in prompt:
        return {
            "summary": "They planned the boat trip.",
            "themes": ["boat"],
            "mood": {"opened": "calm", "closed": "calm"},
        }
    if STAGES["rolling"] in prompt:
        return "Summary with the sail." if "sail" in prompt else "Summary of the boat."
    if STAGES["judge"] in prompt:
        return "0.8"
    if STAGES["condense"] in prompt:
        return "The boat leaves on Friday."
    told = prompt.split("The messages:")[-1]
    rows = [
        {
            "turn": 1,
            "text": quote,
            "quote": quote,
            "subject": "boat",
            "predicate": f"p{number}",
            "object": quote,
        }
        for number, quote in enumerate(SAID)
        if quote in told
    ]
    return {"statements": rows} if "Below are numbered messages" in prompt else {"decisions": []}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=answer) as made:
        yield made


def opened(model: ScriptedModel, home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    """An engine with that model and no worker of its own."""
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__timeout_seconds": 0.5,
        "chat__retries": 0,
    }
    given: dict[str, Any] = {
        "jobs__workers": 0,
        "jobs__max_attempts": 2,
        "write__debounce_seconds": 0.0,
        "embedder": HashEmbedder(),
        **chat,
        **more,
    }
    return engrams.open(home=home, clock=clock, **given)


def settle(memory: MemoryEngine, clock: SettableClock) -> None:
    """Let everything run that is due now or within some hours, as the workers would."""
    for _ in range(5):
        memory.drain(timeout=20)
        clock.forward(hours=2)


def failing(model: ScriptedModel, stage: str, fault: str, work: Callable[[], None]) -> None:
    """Do some work while the model fails at one place."""
    if fault != "refused":
        model.fail(ScriptedFault(fault), times=1000, when=STAGES[stage])
    with model.down() if fault == "refused" else nullcontext():
        work()
    model.heal()


def said(memory: MemoryEngine) -> list[str]:
    return sorted(turn.text for turn in memory.list(scope=OWNER, kinds=(Kind.TURN,)).records)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.covers("S4.22")
def test_a_session_ends_whatever_its_model_does(
    model: ScriptedModel, home: Path, fault: str
) -> None:
    """There is one account, by rules where the model failed, and it can be found;
    no turn is lost, and no job is left.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with opened(model, home, clock) as memory:
        memory.sessions.begin("s1", scope=OWNER)
        memory.observe([Turn(text, session="s1") for text in SAID], scope=OWNER)
        memory.drain(20)

        def end() -> None:
            memory.sessions.end("s1", scope=OWNER)
            settle(memory, clock)

        failing(model, "account", fault, end)
        (account,) = memory.list(scope=OWNER, kinds=(Kind.EPISODE,)).records
        assert "boat" in account.text
        row = memory.store.load(Scope(OWNER), "s1")
        assert row is not None
        assert row.state == "closed"
        assert said(memory) == sorted(SAID)
        memory.retry()
        settle(memory, clock)
        assert memory.status()["dead"] == []
        assert len(memory.list(scope=OWNER, kinds=(Kind.EPISODE,)).records) == 1
        assert all(memory.search(text, scope=OWNER).hits for text in SAID)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.covers("S2.46")
def test_a_summary_stays_or_is_made_again(model: ScriptedModel, home: Path, fault: str) -> None:
    """The facts are there;
    the summary before stays and the failure is a job to be seen, which succeeds once the model is
    well.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with opened(model, home, clock, summary__enabled=True) as memory:
        memory.observe(Turn(SAID[0], session="s1"), scope=OWNER)
        settle(memory, clock)
        assert memory.summaries.of(OWNER, "s1") == "Summary of the boat."

        def tell() -> None:
            memory.observe(Turn(SAID[1], session="s1"), scope=OWNER)
            settle(memory, clock)

        failing(model, "rolling", fault, tell)
        dead = [job["kind"] for job in memory.status()["dead"]]
        summary = memory.summaries.of(OWNER, "s1")
        assert summary, "the summary before is gone"
        if fault not in UNREAD:
            assert ROLL in dead or "extract" in dead
            assert summary == "Summary of the boat."
        memory.retry()
        settle(memory, clock)
        assert memory.status()["dead"] == []
        if fault not in UNREAD or dead:
            assert memory.summaries.of(OWNER, "s1") == "Summary with the sail."
        assert said(memory) == sorted(SAID[:2])
        assert {
            record.text for record in memory.list(scope=OWNER, kinds=(Kind.FACT,)).records
        } == set(SAID[:2])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.covers("S1.5")
def test_a_prompt_fits_whatever_its_model_does(
    model: ScriptedModel, home: Path, fault: str
) -> None:
    """The window is within its budget;
    what fell out of it is in the journal; the next one is summarised again.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    messages = [
        {
            "id": f"m{number}",
            "role": "user",
            "content": f"Parcel {number} is in hall {number}. " * 4,
        }
        for number in range(12)
    ]
    with opened(model, home, clock) as memory:
        summaries = memory.summaries
        windows: list[Any] = []
        failing(
            model,
            "rolling",
            fault,
            lambda: windows.append(
                summaries.fit(messages, scope=OWNER, session="s1", max_tokens=200, tokens=40)
            ),
        )
        (window,) = windows
        kept = {message["id"] for message in window.messages}
        gone = [message for message in messages if message["id"] not in kept]
        assert gone
        if not window.summary:
            assert window.notes
            assert all(
                any(message["content"].strip() in turn for turn in said(memory)) for message in gone
            )
        again = summaries.fit(messages, scope=OWNER, session="s1", max_tokens=200, tokens=40)
        assert again.summary


@pytest.mark.parametrize(
    ("stage", "fault"),
    [
        pytest.param(
            stage, fault, marks=[pytest.mark.slow] if (stage, fault) == ("judge", "hang") else []
        )
        for stage in ("judge", "condense")
        for fault in FAULTS
    ],
)
@pytest.mark.covers("S0.16", "S0.17")
def test_an_item_is_kept_whatever_its_model_does(
    model: ScriptedModel, home: Path, stage: str, fault: str
) -> None:
    """What cannot be read changes nothing;
    a failure is a job to be seen, and its work is done once the model is well.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with opened(
        model,
        home,
        clock,
        preset="cache",
        write__extract="off",
        tiers__working_size=1,
        tiers__promote_importance=0.0,
    ) as memory:
        ids: list[str] = []

        def tell() -> None:
            ids.extend(memory.observe(Turn(text), scope=OWNER)[0].id for text in SAID[:2])
            settle(memory, clock)

        failing(model, stage, fault, tell)
        dead = [job["kind"] for job in memory.status()["dead"]]
        first = memory.get(ids[0], scope=OWNER)
        if fault not in UNREAD:
            assert (JUDGE if stage == "judge" else CONDENSE) in dead
            assert first.importance == 0.5 if stage == "judge" else first.summary == ""
        assert said(memory) == sorted(SAID[:2])
        assert ids[0] in [hit.record.id for hit in memory.search(SAID[0], scope=OWNER).hits]
        memory.retry()
        settle(memory, clock)
        assert memory.status()["dead"] == []
        first = memory.get(ids[0], scope=OWNER)
        if fault not in UNREAD:
            assert (
                first.importance == 0.8
                if stage == "judge"
                else first.summary == "The boat leaves on Friday."
            )
