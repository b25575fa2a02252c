"""Statements that say again what an earlier one says."""

from __future__ import annotations

import pytest

from engrams.text.said_again import says_again


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Porto.", "btw I still live in Porto"),
        ("Wir essen freitags vegan.", "Seit drei Jahren essen wir freitags vegan."),
        ("我对花生过敏。", "我一直对花生过敏。"),
    ],
)
def test_words_of_time_are_nothing_new(earlier: str, later: str) -> None:
    """The same words with "still" or "for three years" among them say the same."""
    assert says_again(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I'm not vegetarian.", "I'm vegetarian now."),
        ("I can eat nuts.", "I can't eat nuts now."),
        ("We work without Docker.", "We work with Docker now."),
        ("I live in Porto.", "I used to live in Porto."),
        ("We meet on Mondays and Thursdays.", "We meet on Mondays now."),
        ("我吃素。", "我现在不吃素。"),
    ],
)
def test_a_denial_the_past_and_less_are_not_the_same(earlier: str, later: str) -> None:
    """A word that denies, one of the past, and a part of what was said say something else."""
    assert not says_again(earlier, later)
