"""Statements that are given as such, by ``add``, a tool or a request, meet what is known like those
that are learned from talk.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Record, Status
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
QUESTION = "how it meets what is known"
DATABASE = (
    "The project uses PostgreSQL 15 as its database.",
    "The project's database is PostgreSQL 15.",
    "PostgreSQL 15 is the database of the project.",
)


@pytest.fixture(params=["engine", "graph"])
def engine(request: pytest.FixtureRequest) -> Iterator[MemoryEngine]:
    """An engine with a preset, whose clock a test may set."""
    clock = SettableClock(step=1)
    with temp_engine(clock=clock, preset=request.param, jobs__workers=0) as opened:
        yield opened


def give(engine: MemoryEngine, text: str, kind: Kind = Kind.FACT) -> Any:
    return engine.add(text, scope=ANN, kind=kind)


def list_statements(engine: MemoryEngine, *statuses: Status) -> list[Record]:
    kinds = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
    page = engine.list(scope=ANN, kinds=kinds, statuses=statuses or (Status.ACTIVE,))
    return list(page.records)


def test_the_same_in_other_words_is_one_memory(engine: MemoryEngine) -> None:
    """It grows stronger; the receipts of the repetitions name it."""
    receipts = [give(engine, text) for text in DATABASE]
    (statement,) = list_statements(engine)
    assert (statement.text, statement.strength) == (DATABASE[0], 3)
    assert [receipt.outcome for receipt in receipts] == ["stored", "duplicate", "duplicate"]
    assert {receipt.id for receipt in receipts} == {statement.id}


def test_the_contrary_takes_the_place_of_a_given_statement(engine: MemoryEngine) -> None:
    """An opinion that turned round is over."""
    give(engine, "The user loves pizza.")
    give(engine, "The user hates pizza.")
    assert [record.text for record in list_statements(engine)] == ["The user hates pizza."]
    (over,) = list_statements(engine, Status.SUPERSEDED)
    assert over.text == "The user loves pizza."


def test_a_given_statement_and_what_it_ends_are_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies after a write leaves the old value or the new one, never both."""
    with temp_engine(clock=SettableClock(step=60), jobs__workers=0) as engine:
        give(engine, "The user loves pizza.")
        commit = engine.store.commit
        batches: list[Any] = []

        def count_commit(batch: Any) -> Any:
            batches.append(batch)
            return commit(batch)

        monkeypatch.setattr(engine.store, "commit", count_commit)
        receipt = give(engine, "The user hates pizza.")
        assert len(batches) == 1
        assert [derived.verdict for derived in receipt.derived] == ["replace"]
        assert [record.text for record in list_statements(engine)] == ["The user hates pizza."]


def test_contradictions_are_linked(engine: MemoryEngine) -> None:
    """Where nothing shows which holds, both stay, joined."""
    give(engine, "Deploys happen on Tuesdays.")
    later = give(engine, "Deploys happen on Thursdays.")
    assert len(list_statements(engine)) == 2
    assert [derived.verdict for derived in later.derived] == ["conflict"]
    owner = list_statements(engine)[0].scope.owner
    types = {edge.type for edge in engine.store.edges(owner, [later.id])}
    assert EdgeType.CONTRADICTS in types


@pytest.mark.parametrize("given_first", [True, False])
def test_given_and_learned_statements_meet(engine: MemoryEngine, given_first: bool) -> None:
    """Whichever came first, the later home is the one that holds."""
    steps = [
        lambda text: give(engine, text),
        lambda text: engine.add(Turn(text, session="s"), scope=ANN, kind=Kind.NOTE),
    ]
    steps = steps if given_first else steps[::-1]
    steps[0]("I live in Paris.")
    steps[1]("I moved to Berlin.")
    engine.drain()
    statements = list_statements(engine)
    assert [record.object for record in statements] == ["Berlin"]


def test_a_given_statement_keeps_its_words_and_gets_its_slot(engine: MemoryEngine) -> None:
    """What rules read in it stands beside the text."""
    give(engine, "The user's manager is Dora.")
    (statement,) = list_statements(engine)
    assert statement.text == "The user's manager is Dora."
    assert (statement.subject, statement.object) == ("user", "Dora")


def test_a_model_is_asked_about_given_statements() -> None:
    """Whether one tool takes another one's place only a model knows; what it adds stands."""
    questions: list[str] = []

    def answer(request: ReceivedModelRequest) -> dict[str, Any]:
        if QUESTION not in request.prompt:
            return {"statements": [], "decisions": [], "names": []}
        questions.append(request.prompt)
        verdict = {"new": 1, "known": [1], "confidence": "high", "reason": "another tool"}
        return {"decisions": [verdict | {"verdict": "replace"}]}

    with (
        ScriptedModel(answer=answer) as model,
        temp_engine(
            clock=SettableClock(step=60),
            jobs__workers=0,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
        ) as engine,
    ):
        for text in ("Tests run with pytest.", "Tests run with nose."):
            give(engine, text)
            engine.drain()
        assert len(questions) == 1
        assert [record.text for record in list_statements(engine)] == ["Tests run with nose."]


def test_words_of_a_day_are_said_anew_on_another_day(engine: MemoryEngine) -> None:
    """A note of today is another one tomorrow; within the day it is the same."""
    day = "2026-03-{:02} 18:00"
    for number in (1, 1, 2):
        said_at = datetime.fromisoformat(day.format(number)).replace(tzinfo=UTC)
        engine.add(Turn("I ran five miles today.", at=said_at), scope=ANN, kind=Kind.NOTE)
    notes = engine.list(scope=ANN, kinds=(Kind.NOTE,)).records
    assert sorted(note.recorded_at.day for note in notes) == [1, 2]
