"""Memories at hand: few, and near."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from engrams.core import Hit, Kind, Record, Scope
from engrams.write.recalled_vector_cache import RecalledVectorCache

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def hit(record_id: str) -> Hit:
    """A hit of that id."""
    return Hit(
        Record(
            id=record_id,
            scope=Scope(("user", "ann")),
            kind=Kind.NOTE,
            text=record_id,
            recorded_at=NOW,
        ),
        0.5,
    )


def row(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """A vector."""
    return np.array(values, np.float32)


@pytest.mark.covers("S0.36")
def test_what_is_near_comes_with_its_likeness() -> None:
    """Memories from the floor on come with their cosines, best first."""
    cache = RecalledVectorCache(20, 0.6)
    cache.put(
        [hit("a"), hit("b"), hit("c")], np.array([[0.6, 0.8], [1, 0], [0.59, 0.807]], np.float32)
    )
    hot = cache.snapshot()
    assert list(hot.find_near(row(1, 0)).items()) == [("b", 1.0), ("a", 0.6)]
    assert list(hot.find_near(row(0, 1)).values()) == [0.807, 0.8]


@pytest.mark.covers("S0.37", "S0.12")
def test_the_one_not_used_for_longest_leaves_first() -> None:
    """Twenty stay; recalling one again is using it; a new process has none."""
    cache = RecalledVectorCache(3, 0.6)
    cache.put([hit("a"), hit("b"), hit("c")], np.array([[1, 0], [0, 1], [0, 1]], np.float32))
    cache.put([hit("a"), hit("d")], np.array([[1, 0], [0, 1]], np.float32))
    assert cache.ids() == ("c", "a", "d")
    assert RecalledVectorCache(3, 0.6).ids() == ()
    large = RecalledVectorCache(20, 0.6)
    large.put([hit(str(number)) for number in range(21)], np.ones((21, 2), np.float32))
    assert len(large.ids()) == 20
    assert "0" not in large.ids()


@pytest.mark.covers("S0.38")
def test_what_left_is_searched_for_again() -> None:
    """What is let go of, by age or by hand, is not among those at hand; without room nothing is."""
    cache = RecalledVectorCache(2, 0.6)
    cache.put([hit("a"), hit("b")], np.eye(2, dtype=np.float32))
    cache.drop(["a", "unknown"])
    assert cache.ids() == ("b",)
    assert cache.snapshot().find_near(row(1, 0)) == {}
    empty = RecalledVectorCache(0, 0.6)
    empty.put([hit("a")], np.eye(1, 2, dtype=np.float32))
    assert empty.ids() == ()


def test_a_vector_of_another_model_is_like_nothing() -> None:
    """Neither no vector, nor one of another length, nor zeros find anything."""
    cache = RecalledVectorCache(2, 0.6)
    cache.put([hit("a"), hit("b")], np.array([[1, 0], [0, 0]], np.float32))
    hot = cache.snapshot()
    assert hot.find_near(None) == {}
    assert hot.find_near(row(1, 0, 0)) == {}
    assert list(hot.find_near(row(1, 0))) == ["a"]
