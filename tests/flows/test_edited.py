"""Edits of what was said: the facts follow."""

from __future__ import annotations

import pytest

from engrams import MemoryEngine
from engrams.testing import temp_engine
from engrams.types import Kind, Status

ANN = ("user", "ann")


def facts(engine: MemoryEngine) -> set[str]:
    return {record.text for record in engine.list(scope=ANN).records if record.kind not in (Kind.NOTE, Kind.TURN)}


@pytest.mark.parametrize("kind", ["note", "turn"])
def test_an_edited_message_says_only_what_it_says_now(kind: Kind) -> None:
    """Facts that a message no longer says end, new ones are there at once, others stay; edited back, the first one returns."""
    with temp_engine() as engine:
        first = "I live in Paris. My dog is called Bruno."
        id = engine.add(first, scope=ANN, kind=kind).id
        assert len(facts(engine)) == 2
        engine.edit(id, scope=ANN, text="I live in Rome. My dog is called Bruno.")
        assert "Paris" not in str(facts(engine)) and "Rome" in str(facts(engine)) and "Bruno" in str(facts(engine))
        told = engine.context("Where do I live?", scope=ANN).text
        assert "Rome" in told and "Paris" not in told
        engine.edit(id, scope=ANN, text=first)
        assert "Paris" in str(facts(engine)) and "Rome" not in str(facts(engine)) and len(facts(engine)) == 2


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
        assert [one.text for one in ended] == ["The user drives a red Volvo"]
