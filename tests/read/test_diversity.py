"""Nothing is shown twice; variety where it is asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams.core import Hit, Kind, Record, Scope
from engrams.read.diversity import find_repeats, select_mmr, spread_over_time

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def hit(name: str, text: str, score: float = 0.5) -> Hit:
    return Hit(
        Record(id=name, scope=Scope(("user", "ann")), kind=Kind.TURN, text=text, recorded_at=WHEN),
        score,
    )


@pytest.mark.covers("S0.45")
def test_equal_texts_are_one() -> None:
    """The better of two equal texts stays, and the other one's reason names it."""
    hits = [hit("a", "We use Postgres."), hit("b", "We use Redis."), hit("c", "We use Postgres.")]
    assert find_repeats(hits, 0.97, 10) == {"c": "a"}


def test_near_duplicates_count_by_words() -> None:
    """Texts with the same content words are one; a different number or name makes two."""
    hits = [
        hit("a", "The meeting with Bob is on Tuesday"),
        hit("b", "the meeting with Bob is on Tuesday!"),
        hit("c", "The meeting with Bob is on Friday"),
    ]
    assert find_repeats(hits, 0.97, 10) == {"b": "a"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Tilda lent Ruth her red bicycle.", "Ruth lent Tilda her red bicycle."),
        ("Mark reports to Lena.", "Lena reports to Mark."),
        ("We moved from Oracle to Postgres.", "We moved from Postgres to Oracle."),
        ("The price went from 3 to 5.", "The price went from 5 to 3."),
        ("The price went from three to five.", "The price went from five to three."),
        ("Will owes Ruth's sister 20 francs.", "Ruth's sister owes Will 20 francs."),
    ],
)
def test_the_same_words_can_say_the_opposite(first: str, second: str) -> None:
    """Names and numbers in another order are another statement."""
    assert find_repeats([hit("a", first), hit("b", second)], 0.97, 10) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Now I live in Bergen.", "I live in Bergen now."),
        ("Yesterday Ruth called.", "Ruth called yesterday."),
        ("Mark reports to Lena.", "mark reports to Lena!"),
        ("My dog barks. The cat sleeps.", "The cat sleeps. My dog barks."),
        ("Ruth’s bicycle is with Tilda.", "Ruth's bicycle: with Tilda, Ruth's!"),
    ],
)
def test_other_words_may_change_places(first: str, second: str) -> None:
    """The first word of a sentence is no name for that; a name may be said twice."""
    assert find_repeats([hit("a", first), hit("b", second)], 0.97, 10) == {"b": "a"}


def test_only_as_many_as_wanted_are_compared() -> None:
    """Once enough different ones are there, the rest is not looked at."""
    hits = [hit("a", "one thing"), hit("b", "another thing"), hit("c", "one thing")]
    assert find_repeats(hits, 0.97, 2) == {}


@pytest.mark.covers("S2.29")
def test_of_five_near_identical_facts_one_comes_before_distinct_ones() -> None:
    """MMR at 0.7 takes one of the twins, then the distinct ones."""
    twin, second, third = np.eye(3, dtype=np.float32)
    vectors = np.stack([twin] * 5 + [second, third])
    chosen = select_mmr([0.9, 0.89, 0.88, 0.87, 0.86, 0.6, 0.55], vectors, 0.7, 3)
    assert chosen == [0, 5, 6]


@pytest.mark.covers("S2.29")
def test_lambda_one_is_plain_relevance_and_nothing_wanted_is_nothing() -> None:
    """The first pick is the best;
    lambda 1 keeps the order; limits of 0 and less choose none; no vector is like nothing.
    """
    vectors = np.ones((3, 2), np.float32)
    assert select_mmr([0.1, 0.9, 0.5], vectors, 1.0, 3) == [1, 2, 0]
    assert select_mmr([0.1, 0.9], vectors[:2], 0.7, 0) == []
    assert select_mmr([0.1, 0.9], vectors[:2], 0.7, -1) == []
    assert select_mmr([], np.zeros((0, 2), np.float32), 0.7, 3) == []
    assert select_mmr([0.9, 0.8, 0.7], np.array([[1, 0], [1, 0], [0, 0]], np.float32), 0.5, 2) == [
        0,
        2,
    ]


def test_hits_are_spread_over_the_time_they_were_said_in() -> None:
    """A part of the time with many good hits leaves places to the others;
    a far worse hit does not pass a better one.
    """
    days = {"a": 0, "b": 0, "c": 0, "d": 50, "e": 100, "f": 100}
    scores = {"a": 0.60, "b": 0.58, "c": 0.56, "d": 0.54, "e": 0.52, "f": 0.10}
    hits = [
        replace(hit(name, name, scores[name]), record=said(name, day)) for name, day in days.items()
    ]
    assert [hit.record.id for hit in spread_over_time(hits)] == ["a", "d", "b", "e", "c", "f"]
    assert spread_over_time(hits[:3]) == hits[:3]
    assert spread_over_time([]) == []


def said(name: str, day: int) -> Record:
    return Record(
        id=name,
        scope=Scope(("user", "ann")),
        kind=Kind.TURN,
        text=name,
        recorded_at=WHEN + timedelta(days=day),
    )
