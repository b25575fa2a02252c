"""The three layers' document (004): when a message is learned from, what makes a fact the same or a
new one, what a fault inside a write leaves, and how many words are enough, by the engine and the
server of that preset.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.acceptance.process import eventually, served

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Status
from engrams.errors import ClosedError, EngramsError, InputError
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HEARD = "Below are numbered messages"
RULES = "Take: what it must always"
STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def opened(
    home: Path, clock: SettableClock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = (
        {}
        if model is None
        else {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
    )
    fixed = {"home": home, "preset": "layers", "clock": clock, "jobs__workers": 0}
    return engrams.open(**{**fixed, **chat, **more})


def tell(engine: MemoryEngine, *texts: str) -> None:
    for text in texts:
        engine.observe(Turn(text, session="s"), scope=ANN)
        engine.drain()


def known(engine: MemoryEngine, *statuses: Status) -> list[Record]:
    return list(
        engine.list(
            scope=ANN, kinds=STATEMENTS, statuses=statuses or (Status.ACTIVE,), order="oldest"
        ).records
    )


def commit_all(request: ReceivedModelRequest) -> Any:
    """Rule that everything is stored at once."""
    numbers = re.findall(r"(?m)^(\d+)\. ", request.prompt.split("The statements:")[-1])
    return {"rulings": [{"id": int(n), "action": "commit_now", "reason": "yes"} for n in numbers]}


def statement(text: str, **more: Any) -> dict[str, Any]:
    row = {"turn": 1, "text": text, "quote": text, "subject": "user", "predicate": "plays"}
    return {**row, "object": "the cello", "kind": "fact", "confidence": 0.9, **more}


@pytest.mark.covers("S4.2")
def test_nothing_is_learned_before_the_reply_is_there(home: Path) -> None:
    """While the model thinks of its reply, it is asked nothing else; then both lanes are asked."""
    gate = threading.Event()

    def answer(request: ReceivedModelRequest) -> Any:
        if request.schema is not None:
            return {"statements": [], "rulings": [], "decisions": []}
        gate.wait(20)
        return ScriptedReply("It is a fine boat.")

    with (
        ScriptedModel(answer=answer) as model,
        served("layers", home, model, "--upstream", f"{model.url}/v1") as door,
    ):
        replies: list[str] = []

        def chats() -> list[ReceivedModelRequest]:
            return [request for request in model.requests if request.route == "chat"]

        body = {"model": "m", "messages": [{"role": "user", "content": "I keep a blue boat."}]}

        def ask() -> None:
            answered = door.client.post("/v1/chat/completions", json=body).json()
            replies.append(answered["choices"][0]["message"]["content"])

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            eventually(chats)
            assert not model.wait(len(model.requests) + 1, seconds=1.0)
            assert [request.schema for request in chats()] == [None]
        finally:
            gate.set()
            thread.join(20)
        assert replies == ["It is a fine boat."]
        eventually(lambda: [r for r in model.requests if RULES in r.prompt])
        eventually(
            lambda: [r for r in model.requests if HEARD in r.prompt and RULES not in r.prompt]
        )


@pytest.mark.covers("S4.24")
@pytest.mark.parametrize(("added", "count"), [("xa xb xc", 1), ("xa xb xc xd", 2)])
def test_how_alike_two_texts_of_one_triple_are_the_same(
    home: Path, clock: SettableClock, model: ScriptedModel, added: str, count: int
) -> None:
    """At seventeen words of twenty, 0.85, the second is the first; at seventeen of twenty-one it is
    a fact of its own.
    """
    base = "user plays " + " ".join(f"w{letter}" for letter in "abcdefghijklmno")
    model.when("rulings", commit_all)
    for text in (f"{base} {added}", base):
        model.when(rf"(?s){HEARD}.*{text}\"", {"statements": [statement(text)]})
    rules = {"write__extraction_passes": 1, "write__reconcile": "rules"}
    with opened(home, clock, model, **rules) as engine:
        tell(engine, base)
        clock.forward(minutes=1)
        tell(engine, f"{base} {added}")
        assert len(known(engine, Status.ACTIVE, Status.SUPERSEDED)) == count


@pytest.mark.covers("S4.25", "S4.28")
def test_a_slot_is_bumped_superseded_or_shared(home: Path, clock: SettableClock) -> None:
    """The same again strengthens; another home ends the one before; a second pet stands beside the
    first.
    """
    with opened(home, clock) as engine:
        tell(engine, "I live in Ghent.", "I live in Ghent.")
        assert [(record.object, record.strength) for record in known(engine)] == [("Ghent", 2)]
        engine.add("I moved to Bruges.", scope=ANN)
        assert [record.object for record in known(engine)] == ["Bruges"]
        (old,) = known(engine, Status.SUPERSEDED)
        assert (old.object, old.superseded_by) == ("Ghent", known(engine)[0].id)
        for text in ("I have a cat called Miso.", "I have a dog called Rex."):
            engine.add(text, scope=ANN)
        texts = " ".join(record.text for record in known(engine))
        assert "Miso" in texts
        assert "Rex" in texts


@contextmanager
def failing(home: Path, condition: str) -> Iterator[None]:
    """Let the database refuse each change of a memory that meets a condition."""
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(
        f"CREATE TRIGGER refused BEFORE UPDATE ON records WHEN {condition}"
        " BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    try:
        yield
    finally:
        connection.execute("DROP TRIGGER refused")
        connection.close()


@pytest.mark.covers("S4.27")
def test_a_fault_between_new_and_old_leaves_neither(home: Path, clock: SettableClock) -> None:
    """Where the old fact cannot be ended, the new one is not there either; once it can, both are
    done.
    """
    with opened(home, clock) as engine:
        engine.observe(Turn("I live in Ghent.", session="s"), scope=ANN)
        engine.drain()
        with failing(home, "NEW.status = 'superseded'"):
            engine.observe(Turn("I moved to Bruges.", session="s"), scope=ANN)
            engine.drain()
            assert [record.object for record in known(engine)] == ["Ghent"]
        clock.forward(hours=2)
        engine.retry()
        engine.drain()
        assert [record.object for record in known(engine)] == ["Bruges"]
        assert [record.object for record in known(engine, Status.SUPERSEDED)] == ["Ghent"]


@pytest.mark.covers("S4.29")
def test_one_bad_message_keeps_all_out(home: Path, clock: SettableClock) -> None:
    """Of several messages in one write, one that is empty or a scope that is none stores nothing of
    the others.
    """
    with opened(home, clock) as engine:
        with pytest.raises(InputError):
            engine.observe([Turn("I keep bees."), Turn("   "), Turn("I row.")], scope=ANN)
        assert engine.list(scope=ANN).records == ()
        with pytest.raises(EngramsError):
            engine.observe([Turn("I keep bees."), Turn("I row.")], scope=("user", "ann", "project"))
        assert engine.scopes() == ()
        engine.observe([Turn("I keep bees."), Turn("I row.")], scope=ANN)
        assert len(engine.list(scope=ANN, kinds=(Kind.TURN,)).records) == 2


@pytest.mark.covers("S4.33")
@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("barge quokka zeppelin", True),
        ("barge quokka zeppelin marzipan", False),
        ("barge harbour quokka zeppelin marzipan obelisk fjord", True),
        ("barge quokka zeppelin marzipan obelisk fjord tundra", False),
    ],
)
def test_so_many_words_are_enough(
    home: Path, clock: SettableClock, query: str, is_found: bool
) -> None:
    """A third of the question's words, or two that are two fifths of the memory's own."""
    with opened(home, clock, embed__provider="null") as engine:
        engine.add(Turn("The barge lies in harbour mud deep"), scope=ANN, kind=Kind.FACT)
        assert bool(engine.search(query, scope=ANN).hits) is is_found


@pytest.mark.covers("S4.42")
def test_synced_is_as_local(home: Path, clock: SettableClock) -> None:
    """What is said in a session is stored, learned from and found by the next process."""
    with opened(home, clock, sessions__mode="synced") as engine:
        engine.sessions.begin("s", scope=ANN)
        tell(engine, "I live in Ghent.")
        assert known(engine)
    with opened(home, clock) as engine:
        assert [record.object for record in known(engine)] == ["Ghent"]


@pytest.mark.covers("S4.58")
def test_both_stores_keep_the_same_contract(home: Path, clock: SettableClock) -> None:
    """On a file and in memory the same calls give the same, and after the end each one raises."""
    for store in ({}, {"store__url": ":memory:", "vault__enabled": False}):
        engine = opened(home, clock, **store)
        first = engine.add(Turn("The barge is long"), scope=ANN, kind=Kind.FACT).id
        second = engine.add(Turn("The tug is short"), scope=ANN, kind=Kind.FACT).id
        assert engine.get(first, scope=ANN).text == "The barge is long"
        assert [hit.record.id for hit in engine.search("barge", scope=ANN).hits] == [first]
        newest = engine.list(scope=ANN, kinds=(Kind.FACT,), limit=1, order="newest").records
        assert [record.id for record in newest] == [second]
        assert engine.stats(ANN)["kind"]["fact"] == 2
        assert [scope.key for scope in engine.scopes()] == ["user/ann"]
        engine.forget(first, scope=ANN)
        assert [record.id for record in known(engine)] == [second]
        engine.close()
        engine.close()
        for late in (
            lambda engine=engine: engine.search("barge", scope=ANN),
            lambda engine=engine, first=first: engine.get(first, scope=ANN),
            lambda engine=engine: engine.add("too late", scope=ANN),
        ):
            with pytest.raises(ClosedError):
                late()
