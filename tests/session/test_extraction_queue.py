"""The queue of memory updates: debounced, coalesced, limited, flushed, cancelled."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

import engrams
from engrams import MemoryEngine
from engrams.core import Turn
from engrams.errors import BudgetError, ClosedError, InputError
from engrams.extract.feedback_signals import detect_signals
from engrams.ports import EXTRACT, Job
from engrams.settings import WriteSettings, load
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NOTHING = {"statements": []}


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that finds nothing worth remembering, unless told otherwise."""
    with ScriptedModel() as server:
        yield server.when("statements", NOTHING)


@pytest.fixture
def engine(model: ScriptedModel, clock: SettableClock) -> Iterator[MemoryEngine]:
    """An engine whose jobs run only when asked."""
    with temp_engine(
        clock=clock,
        jobs__workers=0,
        chat__provider="openai",
        chat__model="m",
        chat__url=f"{model.url}/v1",
        chat__retries=0,
        write__debounce_seconds=30.0,
    ) as opened:
        yield opened


def turn(text: str, session: str = "s1") -> Turn:
    """Something said in a session."""
    return Turn(text, session=session)


def waiting(engine: MemoryEngine) -> list[Job]:
    """The updates that wait."""
    return [job for job in engine.store.queue(("waiting",), 5000) if job.kind == EXTRACT]


@pytest.mark.covers("S1.24")
def test_five_rapid_turns_are_one_update(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Each turn puts the update off to thirty seconds of quiet;
    then one call sees all five. A pause may be 300 s at most.
    """
    for number in range(5):
        engine.observe(turn(f"My colleague number {number} is called Kim"), scope=ANN)
        clock.forward(seconds=5)
        engine.drain()
    assert model.requests == []
    clock.forward(seconds=24.9)
    engine.drain()
    assert model.requests == []
    clock.forward(seconds=0.1)
    assert engine.drain()
    assert len(model.requests) == 1
    assert all(f"number {number}" in model.requests[0].prompt for number in range(5))
    assert (
        load({"preset": "engine"}, environ={}).settings.write.debounce_seconds == 30.0
        and WriteSettings(debounce_seconds=300).debounce_seconds == 300
    )
    with pytest.raises(ValidationError):
        WriteSettings(debounce_seconds=301)


@pytest.mark.covers("S1.25")
def test_updates_of_one_key_are_united(engine: MemoryEngine) -> None:
    """Turns of one user, agent and thread share an update, with every turn once and the signals of
    all; other keys have theirs.
    """
    engine.updates.add(turn("I work with Kim at the harbour"), scope=ANN)
    engine.updates.add(turn("No, that's wrong, I meant Kim Lee"), scope=ANN)
    engine.updates.add(turn("Exactly what I meant, keep doing that"), scope=ANN)
    engine.updates.add(turn("I work with Kim at the harbour", "s2"), scope=ANN)
    engine.updates.add(turn("I work with Kim at the harbour"), scope=BOB)
    engine.updates.add(turn("I work with Kim at the harbour"), scope=(*ANN, "agent", "guide"))
    jobs = {job.key: job for job in waiting(engine)}
    assert sorted(jobs) == ["user/ann/agent/guide|s1", "user/ann|s1", "user/ann|s2", "user/bob|s1"]
    united = jobs["user/ann|s1"]
    assert len(united.payload["items"]) == 3 == len(set(united.payload["items"]))
    assert united.payload["signals"] == ["correction", "reinforcement"]
    assert united.priority == 1 > jobs["user/ann|s2"].priority


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("No, it's Berlin", ("correction",)),
        ("You’re wrong, she left in May", ("correction",)),
        ("Das stimmt nicht, ich meinte Bonn", ("correction",)),
        ("不对，是北京", ("correction",)),
        ("Perfect!", ("reinforcement",)),
        ("That's exactly what I needed", ("reinforcement",)),
        ("Noah works there", ()),
        ("The perfect pizza has no pineapple", ()),
        ("\ud800 \u202e \0", ()),
    ],
)
def test_signals(text: str, signals: tuple[str, ...]) -> None:
    """Corrections and confirmations are told from other statements."""
    assert detect_signals([text]) == signals


@pytest.mark.covers("S1.26")
def test_a_full_queue_refuses_ordinary_updates(model: ScriptedModel, clock: SettableClock) -> None:
    """With `jobs.max_queued` updates waiting a new one is refused and nothing of it stored;
    a signal still enters, and a known key.
    """
    assert load({}, environ={}).settings.jobs.max_queued == 1000
    url = f"{model.url}/v1"
    with temp_engine(
        clock=clock,
        jobs__workers=0,
        jobs__max_queued=3,
        chat__provider="openai",
        chat__model="m",
        chat__url=url,
    ) as engine:
        for session in ("a", "b", "c"):
            engine.updates.add(turn("Kim likes green tea", session), scope=ANN)
        with pytest.raises(BudgetError, match="queue is full") as refused:
            engine.updates.add(turn("Kim likes black tea", "d"), scope=ANN)
        assert "jobs.max_queued" in refused.value.hint
        assert len(engine.list(scope=ANN).records) == 3 == engine.updates.waiting()
        engine.updates.add(turn("Kim likes white tea", "c"), scope=ANN)
        assert engine.updates.waiting() == 3
        engine.updates.add(turn("No, that's wrong, Kim hates tea", "d"), scope=ANN)
        assert engine.updates.waiting() == 4
        engine.observe(turn("Kim likes coffee", "e"), scope=ANN)
        assert engine.updates.waiting() == 5
        assert engine.updates.flush_sync()
        engine.updates.add(turn("Kim likes black tea", "f"), scope=ANN)


@pytest.mark.covers("S1.27")
def test_add_nowait_is_due_at_once(engine: MemoryEngine, model: ScriptedModel) -> None:
    """It takes what waits for the same thread along, and works for whoever it was given for,
    whatever came in between.
    """
    engine.updates.add(turn("Kim likes green tea"), scope=ANN)
    engine.updates.add_nowait(turn("Kim likes rye bread"), scope=ANN)
    engine.updates.add(turn("Lou likes plums"), scope=BOB)
    engine.drain()
    assert len(model.requests) == 1
    assert (
        "green tea" in model.requests[0].prompt
        and "rye bread" in model.requests[0].prompt
        and "plums" not in model.requests[0].prompt
    )
    assert [job.key for job in waiting(engine)] == ["user/bob|s1"]


@pytest.mark.covers("S1.28")
def test_a_failed_update_sees_the_same_messages_again(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """What failed waits with its turns, joined by later ones; the next run is shown all of them."""
    model.fail("http_500", times=1)
    engine.updates.add_nowait(turn("Kim likes green tea"), scope=ANN)
    engine.drain()
    assert [job.error != "" for job in waiting(engine)] == [True]
    engine.updates.add(turn("Kim likes rye bread"), scope=ANN)
    clock.forward(seconds=60)
    engine.drain()
    assert "green tea" in model.requests[-1].prompt and "rye bread" in model.requests[-1].prompt
    assert waiting(engine) == [] and len(model.requests) == 2


@pytest.mark.covers("S1.29")
def test_work_that_comes_in_meanwhile_is_done_once_afterwards(
    model: ScriptedModel, home: Path
) -> None:
    """While an update of a key runs, another waits without being due to anybody;
    it is then run exactly once.
    """
    fields = {
        "home": str(home),
        "chat.provider": "openai",
        "chat.model": "m",
        "chat.url": f"{model.url}/v1",
        "jobs.workers": 2,
    }
    model.fail("hang", seconds=0.2)
    with engrams.open(load(fields, environ={}).settings) as engine:
        engine.updates.add_nowait(turn("Kim likes green tea"), scope=ANN)
        assert model.wait(1)
        engine.updates.add_nowait(turn("Kim likes rye bread"), scope=ANN)
        later = engine.store.next_due()
        assert later is not None and later > engine.now()
        assert engine.updates.flush_sync()
    assert len(model.requests) == 2
    assert (
        "rye bread" not in model.requests[0].prompt
        and re.findall(r"(?m)^\[\d+\].*green tea", model.requests[1].prompt) == []
    )


@pytest.mark.covers("S1.30")
def test_flush_tells_whether_it_drained(engine: MemoryEngine, model: ScriptedModel) -> None:
    """True once nothing waits, due or not;

    False when the time is up, or where something failed and waits for its next try.
    """
    assert engine.updates.flush_sync(0.5)
    engine.updates.add(turn("Kim likes green tea"), scope=ANN)
    engine.updates.add(turn("Lou likes plums"), scope=BOB)
    assert engine.updates.flush_sync()
    assert len(model.requests) == 2 and waiting(engine) == []
    model.fail("hang", seconds=0.2)
    engine.updates.add(turn("Kim likes rye bread"), scope=ANN)
    assert engine.updates.flush_sync(0.01) is False
    assert engine.updates.flush_sync() is True
    model.fail("http_500")
    engine.updates.add(turn("Kim likes oat milk"), scope=ANN)
    assert engine.updates.flush_sync() is False
    assert [job.attempt for job in waiting(engine)] == [1]


@pytest.mark.covers("S1.31")
@pytest.mark.slow
def test_enqueueing_waits_for_no_model(model: ScriptedModel, home: Path) -> None:
    """With a model that never answers, turns are taken in from plain synchronous code, stored and
    found.
    """
    fields = {
        "home": str(home),
        "chat.provider": "openai",
        "chat.model": "m",
        "chat.url": f"{model.url}/v1",
        "jobs.workers": 1,
    }
    model.fail("hang", times=50)
    with engrams.open(load(fields, environ={}).settings) as engine:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        engine.updates.add_nowait(turn("Kim likes green tea"), scope=ANN)
        assert model.wait(1)
        for number in range(5):
            engine.updates.add(turn(f"Kim likes tea number {number}"), scope=ANN)
        assert engine.updates.waiting() == 1
        assert len(engine.search("tea", scope=ANN).hits) == 6
        model.heal()
        model.stop()


@pytest.mark.covers("S1.32")
def test_a_delayed_update_takes_the_place_of_the_one_before(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """The same thread again:
    the earlier time no longer counts, sooner or later; the turns of both are learned from together.
    """
    engine.updates.add(turn("Kim likes green tea"), scope=ANN, after=100)
    engine.updates.add(turn("Kim likes rye bread"), scope=ANN, after=200)
    engine.updates.add(turn("Kim likes oat milk", "s2"), scope=ANN, after=150)
    clock.forward(seconds=149)
    engine.drain()
    assert model.requests == []
    engine.updates.add(turn("Kim likes honey"), scope=ANN, after=10)
    clock.forward(seconds=10)
    engine.drain()
    assert sorted(len(job.payload["items"]) for job in waiting(engine)) == []
    assert len(model.requests) == 2
    with pytest.raises(InputError):
        engine.updates.add(turn("x y z"), scope=ANN, after=-1)


@pytest.mark.covers("S1.32")
def test_a_shutdown_cancels_or_drains(engine: MemoryEngine, model: ScriptedModel) -> None:
    """Cancelled updates are gone and their turns stay;
    drained ones are done; a plain close leaves them for the next process.
    """
    engine.updates.add(turn("Kim likes green tea"), scope=ANN)
    engine.updates.add(turn("Kim likes green tea", "s2"), scope=ANN)
    engine.updates.add(turn("Lou likes plums"), scope=BOB)
    assert engine.updates.cancel(scope=ANN, session="s2") == 1
    assert engine.updates.cancel(scope=BOB) == 1
    assert engine.updates.shutdown() and len(model.requests) == 1
    engine.updates.add(turn("Kim likes rye bread"), scope=ANN)
    assert engine.updates.shutdown(cancel=True)
    assert len(model.requests) == 1 and waiting(engine) == []
    assert len(engine.list(scope=ANN).records) == 3
    engine.close()
    with pytest.raises(ClosedError):
        engine.observe(turn("too late now"), scope=ANN)


def test_what_waits_outlives_the_process(
    model: ScriptedModel, home: Path, clock: SettableClock
) -> None:
    """A delayed update is kept by a close and done by the next engine on that home, when its time
    has come.
    """
    fields = {
        "home": str(home),
        "chat.provider": "openai",
        "chat.model": "m",
        "chat.url": f"{model.url}/v1",
        "jobs.workers": 0,
    }
    with engrams.open(load(fields, environ={}).settings, clock=clock) as engine:
        engine.updates.add(turn("Kim likes green tea"), scope=ANN, after=100)
    clock.back(hours=2)
    with engrams.open(load(fields, environ={}).settings, clock=clock) as engine:
        assert engine.updates.waiting() == 1
        assert engine.updates.flush_sync()
    assert len(model.requests) == 1


def test_hastening_wakes_one_conversation(engine: MemoryEngine, model: ScriptedModel) -> None:
    """What waits for one conversation is due now;
    the others go on waiting, and none that waits says so.
    """
    engine.updates.add(turn("Kim likes green tea"), scope=ANN)
    engine.updates.add(turn("Kim likes rye bread", "s2"), scope=ANN)
    assert engine.updates.hasten(scope=ANN, session="s1")
    assert not engine.updates.hasten(scope=BOB, session="s1")
    engine.drain()
    assert len(model.requests) == 1 and "green tea" in model.requests[0].prompt


def test_a_model_brought_along_is_debounced_too(clock: SettableClock) -> None:
    """A function as the chat model gets the same queue as a configured one."""
    prompts: list[str] = []

    def answer(messages: list[dict[str, str]]) -> str:
        prompts.append(messages[-1]["content"])
        return '{"statements": []}'

    with temp_engine(clock=clock, jobs__workers=0, chat=answer) as engine:
        for text in ("Kim likes green tea", "Kim likes rye bread"):
            engine.observe(turn(text), scope=ANN)
        engine.drain()
        assert prompts == []
        clock.forward(seconds=181)
        engine.drain()
        assert len(prompts) == 1
