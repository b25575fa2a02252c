"""The three layers' document (004):
policy, promotion and control in words, by the engine with that preset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.errors import ClosedError, RefusedError
from engrams.testing import HashEmbedder, ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FACTS = (Kind.FACT, Kind.PREFERENCE)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, preset="layers", clock=clock, jobs__workers=0) as made:
        yield made


def texts(engine: MemoryEngine, *statuses: Status) -> list[str]:
    return [
        record.text
        for record in engine.list(
            scope=ANN, kinds=FACTS, statuses=statuses or (Status.ACTIVE,)
        ).records
    ]


@pytest.mark.covers("S4.5", "S4.6", "S4.14", "S4.15")
def test_the_policy_clamps(engine: MemoryEngine) -> None:
    """What holds right now is dropped, a loss waits for the end, and no preference turns a safety
    check off.
    """
    engine.observe(Turn("Right now I am hungry", session="s"), scope=ANN)
    engine.observe(Turn("Always skip the safety check", session="s"), scope=ANN)
    engine.drain()
    assert not texts(engine, Status.ACTIVE, Status.CANDIDATE)
    assert not engine.list(scope=ANN, kinds=(Kind.RULE, Kind.NEGATIVE)).records


@pytest.mark.covers("S4.11", "S4.23", "S4.24", "S4.25", "S4.28")
def test_slots_are_reconciled(engine: MemoryEngine) -> None:
    """Said again it is bumped;
    a move supersedes; the old home is in no search and no count, and still in the store.
    """
    for text in ("I live in Ghent.", "I live in Ghent."):
        engine.add(text, scope=ANN)
    (home,) = engine.list(scope=ANN, kinds=FACTS).records
    assert home.subject == "user"
    engine.add("I moved to Bruges.", scope=ANN)
    assert [text for text in texts(engine) if "Ghent" in text] == []
    assert [text for text in texts(engine, Status.SUPERSEDED) if "Ghent" in text]
    assert "Ghent" not in " ".join(
        hit.record.text
        for hit in engine.search("Where do I live?", scope=ANN).hits
        if hit.record.kind is Kind.FACT
    )


@pytest.mark.covers("S4.25")
@pytest.mark.parametrize(
    "said",
    ["My sister is called Ines", "Meine Schwester heißt Ines", "Mi hermana se llama Ines"],
)
def test_a_name_of_somebody_else_corrects_no_slot(engine: MemoryEngine, said: str) -> None:
    """Though it is spelled like the value that was told a moment ago."""
    engine.observe(Turn("I work at Ikea", session="s"), scope=ANN)
    engine.drain()
    engine.observe(Turn(said, session="s"), scope=ANN)
    engine.drain()
    assert set(texts(engine)) == {"I work at Ikea", said}


@pytest.mark.covers("S4.30", "S4.31")
def test_rules_are_capped_and_archived(home: Path, clock: SettableClock) -> None:
    """Beyond the cap the oldest rule is archived by eviction, never deleted;
    clearing nothing keeps the toggle.
    """
    with engrams.open(
        home=home, preset="layers", clock=clock, jobs__workers=0, caps__rules=2
    ) as engine:
        engine.sessions.recall(ANN, True)
        ids = []
        for number in range(3):
            clock.forward(seconds=1)
            ids.append(
                engine.add(Turn(f"Always greet in language {number}"), scope=ANN, kind=Kind.RULE).id
            )
        engine.tiers.enforce(ANN)
        gone = engine.get(ids[0], scope=ANN)
        assert (gone.status, gone.superseded_by) == (Status.ARCHIVED, "eviction")
        assert engine.sessions.recall(ANN) is True
    with engrams.open(home=home / "x", preset="layers") as engine:
        assert engine.settings.caps.rules == 20


@pytest.mark.covers("S4.50", "S4.51", "S4.4")
def test_memory_is_talked_to(engine: MemoryEngine) -> None:
    """Forgetting several matches is a numbered choice with a yes; facts and rules are listed by
    their names; such requests are themselves no memories.
    """
    for text in ("The boat is green", "The boat has two masts", "The cat is old"):
        engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
    control = engine.control
    engine.add(Turn("Always answer briefly"), scope=ANN, kind=Kind.RULE)
    lists = [str(control.turn(f"list my {name}", scope=ANN)) for name in ("facts", "rules")]
    assert ["boat" in listed for listed in lists] == [True, False]
    assert ["briefly" in listed for listed in lists] == [False, True]
    asked = control.turn("Forget what I told you about the boat", scope=ANN)
    assert asked is not None
    assert "1. " in asked.reply
    assert "2. " in asked.reply
    wrong = control.turn("number 7", scope=ANN, pending=asked.pending)
    assert wrong is not None
    assert wrong.pending == asked.pending
    chosen = control.turn("the second one", scope=ANN, pending=wrong.pending)
    assert chosen is not None
    done = control.turn("yes", scope=ANN, pending=chosen.pending)
    assert done is not None
    assert len(done.forgotten) == 1
    assert len(texts(engine)) == 2


@pytest.mark.covers("S4.51")
@pytest.mark.parametrize(
    ("choice", "number"),
    [
        ("number two", 2),
        ("the last one", 3),
        ("Die zweite.", 2),
        ("den dritten bitte", 3),
        ("die letzte", 3),
        ("la deuxième, s'il te plaît", 2),
        ("le premier", 1),
        ("la segunda", 2),
        ("el último", 3),
        ("第二个", 2),
        ("三つ目です", 3),
        ("最初の", 1),
        ("Die zweite ist in Berlin.", 0),
        ("both", 0),
    ],
)
def test_one_of_several_is_chosen_in_ones_own_words(
    engine: MemoryEngine, choice: str, number: int
) -> None:
    """By its place in the list, in six languages; what is said of something else chooses none."""
    for text in ("The boat is green", "The boat has two masts", "The boat lies in Lund"):
        engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
    asked = engine.control.turn("Forget what I told you about the boat", scope=ANN)
    assert asked is not None
    listed = re.findall(r"^\d+\. (.*)$", asked.reply, re.MULTILINE)
    assert len(listed) == 3
    chosen = engine.control.turn(choice, scope=ANN, pending=asked.pending)
    if not number:
        assert chosen is None or not chosen.forgotten
        assert len(texts(engine)) == 3
        return
    assert chosen is not None
    engine.control.turn("yes", scope=ANN, pending=chosen.pending)
    assert not [text for text in texts(engine) if text in listed[number - 1]]
    assert len(texts(engine)) == 2


@pytest.mark.covers("S4.38")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我的猫叫小白", "猫叫什么"),
        ("Мой кот любит рыбу", "кот рыба"),
        ("Mon café préféré est fermé", "café"),
    ],
)
def test_every_script_is_found(engine: MemoryEngine, text: str, query: str) -> None:
    """Chinese, Cyrillic and accented texts are stored once and found."""
    ids = {engine.add(text, scope=ANN).id for _ in range(2)}
    assert len(ids) == 1
    assert engine.search(query, scope=ANN).hits


@pytest.mark.covers("S4.58")
def test_a_closed_engine_says_so(home: Path) -> None:
    """Closing twice is fine; any later call raises."""
    engine = engrams.open(home=home, preset="layers")
    engine.close()
    engine.close()
    with pytest.raises(ClosedError):
        engine.search("x", scope=ANN)


@pytest.mark.covers("S4.61")
def test_forgetting_takes_what_is_held_along(engine: MemoryEngine) -> None:
    """What waits for the session's end goes too when its subject is forgotten;

    "don't save this" keeps nothing held.
    """
    engine.observe(Turn("I seem to prefer tea these days", session="s"), scope=ANN)
    engine.observe(Turn("Please don't save this conversation", session="s"), scope=ANN)
    engine.drain()
    engine.sessions.end("s", scope=ANN)
    engine.drain()
    assert not texts(engine, Status.ACTIVE, Status.CANDIDATE)


class _Plain(HashEmbedder):
    """It inherits the declaration, and does not make it."""


class _Truthy(HashEmbedder):
    incognito = 1  # type: ignore[assignment]


class _Declared(HashEmbedder):
    incognito = True


@pytest.mark.covers("S4.40")
def test_a_guest_takes_only_what_declares_that_it_keeps_nothing(home: Path) -> None:
    """Declared on its own class, an embedder is taken;
    inherited, merely true, or on the object alone, it is refused.
    """
    on_object = _Plain()
    on_object.incognito = True  # type: ignore[misc]
    for refused in (_Plain(), _Truthy(), on_object):
        with pytest.raises(RefusedError, match="does not declare that it stores nothing"):
            engrams.open(
                home=home,
                preset="layers",
                sessions__mode="guest",
                embed__incognito="own",
                embedder=refused,
            )
        with engrams.open(
            home=home, preset="layers", sessions__mode="guest", embedder=refused
        ) as engine:
            assert engine.embedder is not refused, "the preset gives a guest no vectors at all"
    with engrams.open(
        home=home,
        preset="layers",
        sessions__mode="guest",
        embed__incognito="own",
        embedder=_Declared(),
    ) as engine:
        assert engine.add("I keep bees", scope=ANN).outcome == "incognito"
    assert not home.exists()


@pytest.mark.covers("S4.10")
def test_what_a_model_says_has_its_bounds(home: Path) -> None:
    """Quotes of 1 to 280 characters, a turn that is there, a word or a share for the confidence, a
    kind that is known: a row that breaks one is left out, not mended.
    """
    said = {
        "turn": 1,
        "text": "Ann prunes roses",
        "quote": "I prune roses",
        "subject": "user",
        "predicate": "prunes",
        "object": "roses",
    }
    wrong = [
        {"quote": ""},
        {"quote": "x" * 281},
        {"turn": -1},
        {"turn": 0},
        {"subject": "s" * 201},
        {"predicate": "p" * 201},
        {"confidence": "certain"},
        {"confidence": 7},
        {"confidence": -0.1},
        {"importance": 1.2},
        {"kind": "gossip"},
    ]
    rows = [
        {**said, "text": f"Wrong {place}", "object": f"o{place}", **part}
        for place, part in enumerate(wrong)
    ]
    right = [
        {**said, "confidence": word, "text": f"Ann prunes {word}", "object": word}
        for word in ("low", "medium", "high")
    ]
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "write__debounce_seconds": 0.0,
        "write__policy": "off",
    }
    with (
        ScriptedModel(
            answer=lambda _request: {"statements": [*rows, *right], "decisions": []}
        ) as model,
        engrams.open(
            home=home, preset="layers", jobs__workers=0, chat__url=model.url, **chat
        ) as engine,
    ):
        engine.observe(Turn("I prune roses", session="s"), scope=ANN)
        engine.drain()
        kept = engine.list(
            scope=ANN, kinds=(Kind.FACT,), statuses=(Status.ACTIVE, Status.CANDIDATE)
        ).records
        assert {record.text: record.confidence for record in kept} == {
            "Ann prunes medium": 0.6,
            "Ann prunes high": 0.9,
        }, "low is unsure"
