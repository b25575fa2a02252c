"""What was shown is not shown again for its time, until the topic changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams.read.conversation_topics import TurnTopic
from engrams.session.recently_shown import RecentlyShownMemories
from engrams.testing import SettableClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def shown(clock: SettableClock) -> RecentlyShownMemories:
    """The filter with the document's numbers."""
    return RecentlyShownMemories(timedelta(minutes=45), 0.3, clock)


@pytest.mark.covers("S3.20")
def test_a_memory_comes_again_after_its_time() -> None:
    """Not within 45 minutes in that conversation; in another one at once."""
    clock = SettableClock(START)
    marks = shown(clock)
    marks.mark_shown("one", ["a", "b"])
    clock.forward(minutes=44, seconds=59)
    assert marks.filter_new("one", ["a", "c"]) == ("c",)
    assert marks.filter_new("two", ["a", "c"]) == ("a", "c")
    clock.forward(seconds=1)
    assert marks.filter_new("one", ["a", "c"]) == ("a", "c")


@pytest.mark.covers("S3.20")
def test_the_same_again_waits_and_so_does_nearly_the_same() -> None:
    """The same set waits 90 seconds, one that overlaps by 0.8 waits 180, even where single ones
    need not wait.
    """
    clock = SettableClock(START)
    marks = RecentlyShownMemories(timedelta(0), 0.3, clock)
    marks.mark_shown("one", ["a", "b", "c", "d"])
    clock.forward(seconds=179)
    assert marks.filter_new("one", ["a", "b", "c", "d", "e"]) == ()
    assert marks.filter_new("one", ["a", "b", "c", "e"]) == ("a", "b", "c", "e")
    clock.forward(seconds=1)
    assert marks.filter_new("one", ["a", "b", "c", "d", "e"]) == ("a", "b", "c", "d", "e")


@pytest.mark.covers("S3.21")
def test_what_is_known_already_is_nothing_new() -> None:
    """A payload of known ones alone is empty."""
    marks = shown(SettableClock(START))
    marks.mark_shown("one", ["a", "b"])
    assert marks.filter_new("one", ["a", "b"]) == ()
    assert marks.filter_new("one", []) == ()


def about(vector: list[float]) -> TurnTopic:
    return TurnTopic(frozenset(), np.array(vector, np.float32))


@pytest.mark.covers("S3.19")
def test_a_new_topic_forgets_what_was_shown() -> None:
    """A cosine under 0.3 to each of the latest turns clears it; 0.3 to one does not. The set that
    was shown last waits its pause all the same.
    """
    clock = SettableClock(START)
    marks = shown(clock)
    assert not marks.detect_topic_change("one", about([1, 0]))
    marks.mark_shown("one", ["a"])
    assert not marks.detect_topic_change("one", about([0.31, 0.951]))
    assert marks.filter_new("one", ["a"]) == ()
    assert not marks.detect_topic_change("one", None)
    assert not marks.detect_topic_change("one", about([0.6, -0.8]))
    assert marks.detect_topic_change("one", about([-1, 0]))
    assert marks.filter_new("one", ["a"]) == ()
    clock.forward(seconds=180)
    assert marks.filter_new("one", ["a"]) == ("a",)
    assert not marks.detect_topic_change("two", about([-1, 0]))


def test_a_clock_that_goes_back_shows_nothing_twice() -> None:
    """An earlier time is within any time to wait."""
    clock = SettableClock(START)
    marks = shown(clock)
    marks.mark_shown("one", ["a"])
    clock.back(days=1)
    assert marks.filter_new("one", ["a"]) == ()
