"""The memory engine's document (001):
a new session begins with the core, MEMORY.md and the lasting facts, within its budget.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.adapters import AgentMemory
from engrams.errors import InputError
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def opened(home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    return engrams.open(
        home=home, preset="engine", clock=clock, jobs__workers=0, vault__dream_at="", **more
    )


def flush(engine: MemoryEngine, *texts: str) -> None:
    engine.flush([{"role": "user", "content": text} for text in texts], scope=ANN)
    engine.drain()


@pytest.mark.covers("S1.57", "S1.58")
def test_a_new_session_begins_with_what_a_dream_kept(home: Path, clock: SettableClock) -> None:
    """What no rule understands reaches MEMORY.md by a dream, and every new session;
    nothing twice, and the same bytes while it stands.
    """
    with opened(home, clock) as engine:
        flush(
            engine,
            "The gate sticks in wet weather.",
            "The cellar floods when the snow melts.",
        )
        assert engine.format_for_injection(scope=ANN) == ""
        assert engine.dream(scope=ANN)
        engine.manage("The gate sticks in wet weather.", scope=ANN)
        text = engine.format_for_injection(scope=ANN, max_tokens=1000)
        assert text.count("wet weather") == 1
        assert text.count("floods when the snow melts") == 1
        assert (
            engine.context(
                "Which gate sticks in wet weather?", scope=ANN, session="new"
            ).text.count("wet weather")
            == 1
        )
        prefix = engine.context("anything", scope=ANN).prefix
        clock.forward(hours=5)
        engine.observe(Turn("Something else entirely about gravel"), scope=ANN)
        assert engine.context("gravel", scope=ANN).prefix == prefix
        for most in (0, 40, 60, 100):
            assert (
                engine.counter.count(engine.format_for_injection(scope=ANN, max_tokens=most))
                <= most
            )


@pytest.mark.covers("S1.57")
def test_facts_about_others_are_in_the_core(home: Path, clock: SettableClock) -> None:
    """Every sure fact that a model took is there, whoever it is about, the surest first;
    one whose time is over is not.
    """
    message = "My deputy Joost is on leave, and our team moved to ClickHouse"
    said = {"turn": 1, "quote": message, "predicate": "is"}
    rows = [
        {
            **said,
            "text": "The team of Ann moved to ClickHouse",
            "subject": "team",
            "object": "ClickHouse",
            "confidence": 0.9,
            "category": "work",
        },
        {
            **said,
            "text": "Joost is on leave",
            "subject": "Joost",
            "object": "leave",
            "confidence": 0.95,
            "category": "context",
        },
    ]
    with ScriptedModel() as model:
        model.when("statements", {"statements": rows})
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": f"{model.url}/v1"}
        with opened(home, clock, **chat) as engine:
            engine.observe(Turn(message, session="s"), scope=ANN)
            clock.forward(seconds=31)
            engine.drain()
            text = engine.format_for_injection(scope=ANN)
            assert "ClickHouse" in text
            assert text.index("Joost is on leave") < text.index("ClickHouse")
            (fact,) = [
                one
                for one in engine.list(scope=ANN, kinds=("fact",)).records
                if "Joost" in one.text
            ]
            engine.edit(fact.id, scope=ANN, fields={"valid_to": clock()})
            clock.forward(days=1)
            assert "Joost" not in engine.format_for_injection(scope=ANN)


@pytest.mark.covers("S1.57")
def test_what_a_question_finds_has_room_beside_the_core(home: Path, clock: SettableClock) -> None:
    """However much there is in the core, half of the budget is for what the question brings up."""
    with opened(home, clock) as engine:
        for number in range(60):
            engine.manage(f"Depot {number} in Graz is run by manager {number * 7}", scope=ANN)
        text = engine.format_for_injection("Who runs depot 43?", scope=ANN, max_tokens=240)
        assert "Depot 43 " in text
        assert "Depot 0 " in text
        assert engine.counter.count(text) <= 240


@pytest.mark.covers("S1.55")
def test_a_note_that_only_repeats_takes_no_place(home: Path, clock: SettableClock) -> None:
    """Files whose lines about the question other hits say are left out of a search;
    one that says more is not.
    """
    with opened(home, clock) as engine:
        flush(
            engine,
            "The greenhouse heater runs on propane",
            "The greenhouse vents open at 24 degrees",
            "Mirko feeds the geese at dawn",
        )
        assert engine.dream(scope=ANN)
        assert {
            hit["kind"] for hit in AgentMemory(engine, ANN).search_memory("greenhouse", limit=5)
        } == {"turn"}
        core = home / "vault/memory/users/ann/MEMORY.md"
        core.write_text(core.read_text() + "- The greenhouse tomatoes are of the kind Matina\n")
        engine.vault.sync()  # type: ignore[union-attr]
        assert any(
            "Matina" in str(hit["snippet"])
            for hit in AgentMemory(engine, ANN).search_memory("greenhouse", limit=5)
        )


@pytest.mark.covers("S1.58")
def test_a_long_note_leaves_room_for_the_others(home: Path, clock: SettableClock) -> None:
    """It is quoted in part; what was stored before and after it stands whole."""
    short = (
        "The water is turned off from November to March.",
        "Compost is delivered by Huber.",
        "The toilet is locked in winter.",
    )
    plots = " ".join(
        f"Plot {number} may burn branches only on day {number % 28 + 1} and tells warden"
        f" {number * 3}."
        for number in range(120)
    )
    with opened(home, clock, embed__provider="null") as engine:
        for text in (*short[:2], f"House rules of the allotment. {plots}", short[2]):
            engine.manage(text, scope=ANN)
        for number in range(3):
            engine.manage(f"Minutes of meeting {number}. {plots}", scope=ANN)
        engine.drain()
        for tokens in (700, 1500, 4000):
            text = engine.format_for_injection(scope=ANN, max_tokens=tokens)
            # A learned sentence is quoted without its full stop.
            sentences = [sentence.rstrip(".") for sentence in short]
            assert all(words in text for words in (*sentences, "Plot 0 may burn")), tokens
            assert engine.counter.count(text) <= tokens


def test_wrong_kinds_of_values_are_told(home: Path, clock: SettableClock) -> None:
    """Metadata that is no object, and a list of ids, are refused in words."""
    with opened(home, clock, embed__provider="null") as engine:
        with pytest.raises(InputError, match="not an object"):
            engine.manage("I keep bees.", scope=ANN, metadata="x")
        name = engine.manage("I keep bees.", scope=ANN)
        for act in (engine.forget, engine.restore):
            with pytest.raises(InputError) as told:
                act([name], scope=ANN)
            assert "one id at a time" in told.value.hint


@pytest.mark.covers("S1.62")
@pytest.mark.parametrize(
    ("one", "other", "reads_owner"),
    [
        (("org", "acme", "alpha"), ("org", "acme", "beta"), True),
        ((*ANN, "project", "kiln"), (*ANN, "project", "boat"), True),
        ((*ANN, "user", "bob"), (*ANN, "user", "cleo"), False),
    ],
)
def test_agents_and_projects_read_no_notes_of_each_other(
    home: Path,
    clock: SettableClock,
    one: tuple[str, ...],
    other: tuple[str, ...],
    reads_owner: bool,
) -> None:
    """Notes and MEMORY.md are read like the memories behind them: a line of an agent, a project or
    a program's user in that one alone, a line of the owner in agents and projects, and the owner
    reads every line.
    """
    owner = one[:2]
    with opened(home, clock) as engine:
        for scope, name in ((one, "Wolf"), (other, "Bear"), (owner, "Lynx")):
            message = {"role": "user", "content": f"The server of the hall is named {name}."}
            engine.flush([message], scope=scope)
            engine.manage(f"The gate code of {name} is seven", scope=scope)
        engine.drain()
        assert engine.dream(scope=owner)
        told = {
            scope: "\n".join(
                [
                    engine.format_for_injection(scope=scope),
                    engine.context("Which server has the hall?", scope=scope).text,
                    *(hit.record.text for hit in engine.search("server hall", scope=scope).hits),
                    *(record.text for record in engine.list(scope=scope).records),
                ]
            )
            for scope in (one, other, owner)
        }
    assert [name in told[one] for name in ("Wolf", "Bear", "Lynx")] == [True, False, reads_owner]
    assert [name in told[other] for name in ("Wolf", "Bear", "Lynx")] == [False, True, reads_owner]
    assert all(name in told[owner] for name in ("Wolf", "Bear", "Lynx"))
