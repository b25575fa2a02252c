"""The recall toggle, as every prompt sees it."""

from __future__ import annotations

import pytest

from engrams.core import Kind, Turn
from engrams.testing import temp_engine

ANN = ("user", "ann")


@pytest.mark.covers("S4.49")
def test_recall_off_leaves_rules_and_goes_on_writing() -> None:
    """Off, which is the default where it is set so, facts and accounts are in no prompt, rules
    still are, and writes go on.
    """
    with temp_engine(sessions__recall=False) as engine:
        engine.add("My dog is called Rex and he is a greyhound.", scope=ANN)
        engine.add("Always answer in metric units.", scope=ANN, kind=Kind.RULE)
        engine.add("Ann told of her dog and the sea.", scope=ANN, kind=Kind.EPISODE)
        assert engine.sessions.recall(ANN) is False
        for record in (
            engine.context("What is my dog called?", scope=ANN),
            engine.deliver("What is my dog called?", scope=ANN, session="s"),
        ):
            assert "metric" in record.text
            assert not [word for word in ("Rex", "greyhound", "sea") if word in record.text]
        engine.observe(Turn("My cat is called Tom.", session="s"), scope=ANN)
        engine.drain()
        assert engine.search("What is my cat called?", scope=ANN).hits
        assert engine.sessions.recall(ANN, True) is True
        assert "Rex" in engine.context("What is my dog called?", scope=ANN).text
        assert "Rex" not in engine.context("What is a dog called?", scope=("user", "bob")).text


def test_a_search_by_hand_finds_what_is_not_recalled() -> None:
    """The toggle is about prompts: who looks finds."""
    with temp_engine() as engine:
        engine.add("My dog is called Rex.", scope=ANN)
        engine.sessions.recall(ANN, False)
        assert engine.search("What is my dog called?", scope=ANN).hits
        assert engine.list(scope=ANN).records
