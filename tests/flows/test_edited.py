"""Edits of what was said: the facts follow."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.testing import temp_engine

ANN = ("user", "ann")


def facts(engine: MemoryEngine) -> set[str]:
    return {
        record.text
        for record in engine.list(scope=ANN).records
        if record.kind not in (Kind.NOTE, Kind.TURN)
    }


@pytest.mark.parametrize("kind", ["note", "turn"])
def test_an_edited_message_says_only_what_it_says_now(kind: Kind) -> None:
    """Facts that a message no longer says end, new ones are there at once, others stay;
    edited back, the first one returns.
    """
    with temp_engine() as engine:
        first = "I live in Paris. My dog is called Bruno."
        id = engine.add(first, scope=ANN, kind=kind).id
        assert len(facts(engine)) == 2
        engine.edit(id, scope=ANN, text="I live in Rome. My dog is called Bruno.")
        assert (
            "Paris" not in str(facts(engine))
            and "Rome" in str(facts(engine))
            and "Bruno" in str(facts(engine))
        )
        told = engine.context("Where do I live?", scope=ANN).text
        assert "Rome" in told and "Paris" not in told
        engine.edit(id, scope=ANN, text=first)
        assert (
            "Paris" in str(facts(engine))
            and "Rome" not in str(facts(engine))
            and len(facts(engine)) == 2
        )


def test_a_fact_that_others_say_too_stays() -> None:
    """An edit ends a fact only if no other message says it."""
    with temp_engine() as engine:
        id = engine.add("I live in Paris.", scope=ANN, kind=Kind.TURN).id
        engine.add("I live in Paris.", scope=ANN, kind=Kind.TURN)
        engine.edit(id, scope=ANN, text="I drive a blue Volvo.")
        assert "Paris" in str(facts(engine)) and "Volvo" in str(facts(engine))


def test_an_edit_that_ends_everything_ends_the_facts() -> None:
    """A message edited to say nothing has no facts any more, and editing other fields touches none."""
    with temp_engine() as engine:
        id = engine.add("I drive a red Volvo.", scope=ANN, kind=Kind.TURN).id
        engine.edit(id, scope=ANN, fields={"tags": ["car"]})
        assert "red Volvo" in str(facts(engine))
        engine.edit(id, scope=ANN, text="Okay.")
        assert not facts(engine)
        ended = engine.list(scope=ANN, statuses=(Status.SUPERSEDED,)).records
        assert [one.text for one in ended] == ["I drive a red Volvo"]


@pytest.mark.parametrize(
    ("said", "edited", "later"),
    [
        ("I live in Berlin", "The user lives in Hamburg", "I moved to Munich"),
        ("I live in Berlin", "The user has lived in Hamburg since 2020", "I moved to Munich"),
        ("I live in Berlin", "The user moved from Berlin to Hamburg", "I moved to Munich"),
        ("I live in Berlin", "I live in Hamburg, near the harbour", "I moved to Munich"),
        ("I work at Acme", "The user works for Hamburg Press", "I started working at Globex"),
        (
            "My favourite colour is green",
            "The user's favorite color is hamburg blue",
            "My favourite colour is now red",
        ),
    ],
)
def test_an_edited_fact_gives_way_to_a_later_one(said: str, edited: str, later: str) -> None:
    """A fact in new words still answers the same question, so that a later message of the same ends
    it.
    """
    with temp_engine(jobs__workers=0) as engine:
        engine.add(Turn(said, "user", "", datetime(2026, 1, 2, tzinfo=UTC)), scope=ANN)
        fact = next(one for one in engine.list(scope=ANN).records if one.predicate)
        assert engine.edit(fact.id, scope=ANN, text=edited).predicate == fact.predicate
        engine.add(Turn(later, "user", "", datetime(2026, 5, 2, tzinfo=UTC)), scope=ANN)
        assert engine.get(fact.id, scope=ANN).status is Status.SUPERSEDED
        assert not any("amburg" in text for text in facts(engine))


@pytest.mark.parametrize(
    ("said", "edited"),
    [
        ("I live in Berlin", "The user likes tea"),
        ("I live in Berlin", "The user might live in Hamburg"),
        ("I live in Berlin", "The user lived in Hamburg until 2020"),
        ("I live in Berlin", "The user's sister lives in Hamburg"),
        ("I live in Berlin", "Anna says the user lives in Hamburg"),
        ("I live in Berlin", "The user lives in Hamburg and works at Acme"),
        ("I don't live in Berlin", "The user might live in Hamburg"),
    ],
)
def test_a_fact_edited_to_another_one_stays(said: str, edited: str) -> None:
    """What an edit made another statement, a doubtful one or several is not ended by what follows
    the old one.
    """
    with temp_engine(jobs__workers=0) as engine:
        engine.add(Turn(said, "user", "", datetime(2026, 1, 2, tzinfo=UTC)), scope=ANN)
        fact = next(one for one in engine.list(scope=ANN).records if one.predicate)
        engine.edit(fact.id, scope=ANN, text=edited)
        engine.add(
            Turn("I moved to Munich", "user", "", datetime(2026, 5, 2, tzinfo=UTC)), scope=ANN
        )
        assert engine.get(fact.id, scope=ANN).status is Status.ACTIVE
