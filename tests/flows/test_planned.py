"""What somebody says will be so from a day on replaces what is so on that day, at every door."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import engrams
from engrams import AsOf, MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.program.main import app
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
ASK = "Where does Ann work?"
OLD = "I work at Acme"
NEW = "From March I work at Globex"


def facts(memory: MemoryEngine, **fields: Any) -> list[str]:
    return sorted(
        record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,), **fields).records
    )


def told(memory: MemoryEngine, *texts: str) -> None:
    for text in texts:
        memory.observe(Turn(text), scope=ANN)
        memory.drain()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-11-22T10:00")


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    """Ann works at Acme, and said that she works at Globex from March."""
    with engrams.open(home=home, clock=clock, jobs__workers=0) as engine:
        told(engine, "I work at Acme.")
        clock.forward(days=1)
        told(engine, "From March I work at Globex.")
        yield engine


def statuses(memory: MemoryEngine, **fields: Any) -> dict[str, Status]:
    return {hit.record.text: hit.status for hit in memory.search(ASK, scope=ANN, **fields).hits}


def test_current_from_its_day(memory: MemoryEngine, clock: SettableClock, home: Path) -> None:
    """Until the day the old value is current and the new one says from when;
    from that second on it is the other way round.
    """
    assert facts(memory) == [NEW, OLD]
    assert "From March I work at Globex" in memory.context(ASK, scope=ANN).text
    clock.set("2027-02-28T23:59:59")
    memory.drain()
    assert statuses(memory)["I work at Acme."] is Status.ACTIVE
    clock.set("2027-03-01T00:00:00")
    assert statuses(memory) == {
        "From March I work at Globex.": Status.ACTIVE,
        "I work at Acme.": Status.SUPERSEDED,
    }
    memory.drain()
    assert facts(memory) == [NEW]
    assert facts(memory, statuses=(Status.SUPERSEDED,)) == [OLD]
    shown = memory.context(ASK, scope=ANN).text
    assert OLD not in shown
    assert NEW in shown
    listed = (
        CliRunner()
        .invoke(app, ["list", "--kind", "fact", "--user", "ann"], env={"ENGRAMS_HOME": str(home)})
        .output
    )
    assert "Globex" in listed
    assert "Acme" not in listed


def test_as_of_any_day(memory: MemoryEngine, clock: SettableClock) -> None:
    """Which employer is true on a day, as known on another, is the same before and after the day
    has come.
    """
    march = datetime(2027, 4, 1, tzinfo=UTC)
    december = datetime(2026, 12, 1, tzinfo=UTC)
    before = datetime(2026, 11, 22, 12, tzinfo=UTC)
    for moment in ("2026-11-24", "2027-05-01"):
        clock.set(moment)
        memory.drain()
        assert facts(memory, as_of=AsOf(valid=march)) == [NEW]
        assert statuses(memory, as_of=AsOf(valid=march))["I work at Acme."] is Status.SUPERSEDED
        assert statuses(memory, as_of=AsOf(valid=december))["I work at Acme."] is Status.ACTIVE
        assert facts(memory, as_of=AsOf(valid=december)) == [OLD]
        assert facts(memory, as_of=AsOf(valid=march, known=before)) == [OLD]


def test_a_plan_given_up_ends_nothing(memory: MemoryEngine, clock: SettableClock) -> None:
    """With the plan forgotten, what is known goes on past the day."""
    (plan,) = [
        record
        for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records
        if record.text == NEW
    ]
    memory.forget(plan.id, scope=ANN)
    clock.set("2027-04-01")
    memory.drain()
    assert facts(memory) == [OLD]
    assert facts(memory, as_of=AsOf(valid=clock())) == [OLD]


@pytest.mark.parametrize(
    "text",
    [
        "I won't be working at Globex after all.",
        "I won't work at Globex, after all!",
        "I'm not starting at Globex after all",
        "Sad news: I won't start at Globex after all, they froze hiring.",
    ],
)
def test_a_plan_that_is_cancelled(memory: MemoryEngine, clock: SettableClock, text: str) -> None:
    """Nothing happens on the day of a plan that somebody gave up."""
    told(memory, text)
    for day in ("2027-02-20", "2027-04-01"):
        clock.set(day)
        memory.drain()
        assert OLD in facts(memory) and NEW not in facts(memory)
        assert statuses(memory)["I work at Acme."] is Status.ACTIVE


@pytest.mark.parametrize(
    "text",
    [
        "I will work at Globex after all.",
        "I might not work at Globex after all.",
        "My sister won't work at Globex after all.",
        "I won't work at Initech after all.",
        "I'm not visiting Globex after all.",
        "I don't work at Globex yet.",
        "If I don't start at Globex after all, I will cry.",
        "Did you hear that I won't work at Globex after all?",
        "After all, I won't miss Acme.",
    ],
)
def test_a_plan_that_stands(memory: MemoryEngine, clock: SettableClock, text: str) -> None:
    """Doubts, questions, others' plans and other plans cancel none."""
    told(memory, text)
    clock.set("2027-04-01")
    memory.drain()
    assert NEW in facts(memory) and OLD not in facts(memory)


def test_nothing_to_cancel(memory: MemoryEngine, clock: SettableClock) -> None:
    """What holds already is no plan, and a plan that nobody knows leaves nothing."""
    told(memory, "I won't work at Acme after all.", "I won't live in Rome after all.")
    clock.set("2027-02-20")
    memory.drain()
    assert OLD in facts(memory) and not any("Rome" in text for text in facts(memory))


def test_a_plan_that_changes(memory: MemoryEngine, clock: SettableClock) -> None:
    """Another employer from another day takes the plan's place, and the old value ends on the new
    day.
    """
    told(memory, "I will work at Initech from May.")
    clock.set("2027-03-15")
    memory.drain()
    assert facts(memory) == ["I will work at Initech from May", OLD]
    clock.set("2027-05-01")
    memory.drain()
    assert facts(memory) == ["I will work at Initech from May"]


@pytest.mark.parametrize(
    "text",
    [
        "From Monday to Friday I work at Globex.",
        "I know Bob from May.",
        "I worked at Globex from March.",
    ],
)
def test_what_is_no_plan(home: Path, clock: SettableClock, text: str) -> None:
    """A span of days, an origin and a report end nothing."""
    with engrams.open(home=home, clock=clock, jobs__workers=0) as memory:
        told(memory, "I work at Acme.", text)
        (old,) = [
            record
            for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records
            if record.text == OLD
        ]
        assert old.valid_to is None


def test_a_model_tells_the_day(home: Path, clock: SettableClock) -> None:
    """A start to come that a model finds, in any language, works the same."""

    def answer(request: ReceivedModelRequest) -> dict[str, object]:
        if "how it meets what is known" in request.prompt:
            return {
                "decisions": [
                    {
                        "new": 1,
                        "known": [1],
                        "verdict": "replace",
                        "confidence": "high",
                        "reason": "a new job",
                    }
                ]
            }
        later = "Globex" in request.prompt.split("The messages:")[-1]
        firm = "Globex" if later else "Acme"
        row = {
            "turn": 1,
            "text": f"Ann works at {firm}.",
            "quote": firm,
            "subject": "user",
            "predicate": "works_at",
            "object": firm,
        }
        return {"statements": [{**row, "from": "2027-03-01"} if later else row]}

    with ScriptedModel(answer=answer) as model:
        given: dict[str, Any] = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "write__debounce_seconds": 0.0,
        }
        with engrams.open(home=home, clock=clock, jobs__workers=0, **given) as memory:
            told(memory, "Ich arbeite bei Acme.")
            clock.forward(days=1)
            told(memory, "Ab März arbeite ich bei Globex.")
            assert facts(memory, as_of=AsOf(valid=clock())) == ["Ann works at Acme."]
            assert facts(memory, as_of=AsOf(valid=datetime(2027, 3, 1, tzinfo=UTC))) == [
                "Ann works at Globex."
            ]
            clock.set("2027-03-01")
            memory.drain()
            assert facts(memory) == ["Ann works at Globex."]
