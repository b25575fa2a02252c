"""A clause that says two things, one of which has ended."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize("preset", ["default", "engine", "proxy"])
def test_what_ended_is_not_told_by_the_words_of_what_holds(preset: str) -> None:
    """A new employer ends the old one; the job stays, but not the words that name the old one, in
    prompts and searches. A read of the past shows them.
    """
    clock = SettableClock(START)
    with temp_engine(preset=preset, clock=clock, jobs__workers=0) as engine:
        engine.add("I work at Acme as a data engineer", scope=ANN)
        engine.drain()
        clock.forward(days=3)
        engine.add("I work at Apex now", scope=ANN)
        engine.drain()
        question = "What is my job, and at which company?"
        prompt = engine.context(question, scope=ANN).text
        assert "data engineer" in prompt
        assert "Apex" in prompt
        assert "Acme" not in prompt
        found_facts = [
            record
            for hit in engine.search(question, scope=ANN).hits
            for record in (hit.record, *hit.facts)
            if record.predicate == "job"
        ]
        assert [record.text for record in found_facts] == ["user JOB data engineer"]
        past = engine.context(question, scope=ANN, as_of="2026-03-02").text
        assert "I work at Acme as a data engineer" in past


def test_a_quote_that_still_holds_is_chosen() -> None:
    """A statement that was made twice is shown in the words that say nothing of what ended."""
    clock = SettableClock(START)
    with temp_engine(clock=clock, jobs__workers=0) as engine:
        for text in (
            "My sister Ines lives in Rome with her dog Rufus",
            "Ines is my sister",
            "My sister Ines moved to Naples",
        ):
            engine.add(text, scope=ANN)
            engine.drain()
            clock.forward(days=1)
        prompt = engine.context("Who is Ines?", scope=ANN).text
        assert "Naples" in prompt
        assert "Rome" not in prompt
