"""Values told with "now": what somebody's home or employer is at present may stay so for years."""

from __future__ import annotations

import pytest

from engrams.testing import temp_engine

ANN = ("user", "ann")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("我现在住在上海。", "上海"),
        ("我现在在阿里工作。", "阿里"),
        ("我在在网易上班。", "网易"),
        ("我在在线教育公司上班。", "在线教育公司"),
        ("Ich wohne momentan in Berlin.", "Berlin"),
        ("Ich arbeite gerade bei Bosch.", "Bosch"),
        ("En ce moment je travaille chez Airbus.", "Airbus"),
        ("En este momento vivo en Cádiz.", "Cádiz"),
        ("I live in Oslo at the moment.", "Oslo"),
        ("今は大阪に住んでいます。", "大阪"),
    ],
)
def test_a_present_home_or_employer_is_learned(text: str, value: str) -> None:
    """It is a fact as without the word, and ends the one before."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(text, scope=ANN)
        engine.drain(10)
        facts = engine.list(scope=ANN, kinds=["fact"]).records
    assert [fact.object for fact in facts] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "我现在很累。",
        "我现在想喝咖啡。",
        "我现在在看书。",
        "Ich bin gerade müde.",
        "My leg hurts at the moment.",
        "I'm vegan today.",
    ],
)
def test_a_mood_or_wish_of_the_moment_is_no_fact(text: str) -> None:
    """What is only so now stays in its message."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(text, scope=ANN)
        engine.drain(10)
        assert engine.list(scope=ANN, kinds=["fact"]).records == ()
