"""Memories at hand: few, near, and copies."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from engrams.core import Hit, Kind, Record, Scope
from engrams.session.ring_buffer import HotMemoryCache

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def hit(name: str) -> Hit:
    """A hit of that id."""
    return Hit(
        Record(id=name, scope=Scope(("user", "ann")), kind=Kind.NOTE, text=name, recorded_at=NOW),
        0.5,
        parts={"cos": 0.5},
    )


def row(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """A vector."""
    return np.array(values, np.float32)


@pytest.mark.covers("S0.36")
def test_what_is_near_comes_as_copies_with_their_likeness() -> None:
    """From the floor on, best first; what is kept does not change."""
    hot = HotMemoryCache(20, 0.6)
    kept = [hit("a"), hit("b"), hit("c")]
    hot.put(kept, np.array([[0.6, 0.8], [1, 0], [0.59, 0.807]], np.float32))
    found = hot.find_near(row(1, 0))
    assert [(each.record.id, each.parts["sub_sim"]) for each in found] == [("b", 1.0), ("a", 0.6)]
    assert all("sub_sim" not in each.parts for each in kept)
    again = hot.find_near(row(0, 1))
    assert [each.parts["sub_sim"] for each in again] == [0.807, 0.8]


@pytest.mark.covers("S0.37", "S0.12")
def test_the_one_not_used_for_longest_leaves_first() -> None:
    """Twenty stay; finding one is using it; a new process has none."""
    hot = HotMemoryCache(3, 0.6)
    hot.put([hit("a"), hit("b"), hit("c")], np.array([[1, 0], [0, 1], [0, 1]], np.float32))
    assert [each.record.id for each in hot.find_near(row(1, 0))] == ["a"]
    hot.put([hit("d")], np.array([[0, 1]], np.float32))
    assert hot.ids() == ("c", "a", "d")
    assert HotMemoryCache(3, 0.6).ids() == ()
    large = HotMemoryCache(20, 0.6)
    large.put([hit(str(number)) for number in range(21)], np.ones((21, 2), np.float32))
    assert len(large.ids()) == 20
    assert "0" not in large.ids()


@pytest.mark.covers("S0.38")
def test_what_left_is_searched_for_again() -> None:
    """What is let go of, by age or by hand, is not among those at hand; without room nothing is."""
    hot = HotMemoryCache(2, 0.6)
    hot.put([hit("a"), hit("b")], np.eye(2, dtype=np.float32))
    hot.drop(["a", "unknown"])
    assert hot.ids() == ("b",)
    assert hot.find_near(row(1, 0)) == ()
    none = HotMemoryCache(0, 0.6)
    none.put([hit("a")], np.eye(1, 2, dtype=np.float32))
    assert none.ids() == ()


def test_a_vector_of_another_model_is_like_nothing() -> None:
    """Neither no vector, nor one of another length, nor zeros find anything."""
    hot = HotMemoryCache(2, 0.6)
    hot.put([hit("a"), hit("b")], np.array([[1, 0], [0, 0]], np.float32))
    assert hot.find_near(None) == ()
    assert hot.find_near(row(1, 0, 0)) == ()
    assert [each.record.id for each in hot.find_near(row(1, 0))] == ["a"]
