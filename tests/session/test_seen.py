"""What was shown is not shown again for its time, until the topic changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams.session.seen import Shown
from engrams.testing import Ticker

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def shown(clock: Ticker) -> Shown:
    """The filter with the document's numbers."""
    return Shown(timedelta(minutes=45), 0.3, clock)


@pytest.mark.covers("S3.20")
def test_a_memory_comes_again_after_its_time() -> None:
    """Not within 45 minutes in that conversation; in another one at once."""
    clock = Ticker(START)
    seen = shown(clock)
    seen.show("one", ["a", "b"])
    clock.forward(minutes=44, seconds=59)
    assert seen.fresh("one", ["a", "c"]) == ("c",)
    assert seen.fresh("two", ["a", "c"]) == ("a", "c")
    clock.forward(seconds=1)
    assert seen.fresh("one", ["a", "c"]) == ("a", "c")


@pytest.mark.covers("S3.20")
def test_the_same_again_waits_and_so_does_nearly_the_same() -> None:
    """The same set waits 90 seconds, one that overlaps by 0.8 waits 180, even where single ones need not wait."""
    clock = Ticker(START)
    seen = Shown(timedelta(0), 0.3, clock)
    seen.show("one", ["a", "b", "c", "d"])
    clock.forward(seconds=179)
    assert seen.fresh("one", ["a", "b", "c", "d", "e"]) == ()
    assert seen.fresh("one", ["a", "b", "c", "e"]) == ("a", "b", "c", "e")
    clock.forward(seconds=1)
    assert seen.fresh("one", ["a", "b", "c", "d", "e"]) == ("a", "b", "c", "d", "e")


@pytest.mark.covers("S3.21")
def test_what_is_known_already_is_nothing_new() -> None:
    """A payload of known ones alone is empty; what the conversation said itself counts as known."""
    seen = shown(Ticker(START))
    seen.show("one", ["a"])
    seen.know("one", ["b"])
    assert seen.fresh("one", ["a", "b"]) == ()
    assert seen.fresh("one", []) == ()


@pytest.mark.covers("S3.19")
def test_a_new_topic_forgets_what_was_shown() -> None:
    """A cosine under 0.3 to the turn before clears it; 0.3 does not."""
    seen = shown(Ticker(START))
    assert not seen.turn("one", np.array([1, 0], np.float32))
    seen.show("one", ["a"])
    assert not seen.turn("one", np.array([0.31, 0.951], np.float32))
    assert seen.fresh("one", ["a"]) == ()
    assert not seen.turn("one", None)
    assert seen.turn("one", np.array([-0.951, 0.31], np.float32))
    assert seen.fresh("one", ["a"]) == ("a",)
    assert not seen.turn("two", np.array([-1, 0], np.float32))


def test_a_clock_that_goes_back_shows_nothing_twice() -> None:
    """An earlier time is within any time to wait."""
    clock = Ticker(START)
    seen = shown(clock)
    seen.show("one", ["a"])
    clock.back(days=1)
    assert seen.fresh("one", ["a"]) == ()
