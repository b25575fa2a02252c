"""One turn behind: what is found during a turn is given at the next, once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from engrams.session.prefetch import ContextPrefetcher
from engrams.testing import SettableClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture
def pending(clock: SettableClock) -> Iterator[ContextPrefetcher[str]]:
    """Results that stay fresh for two minutes."""
    prefetcher: ContextPrefetcher[str] = ContextPrefetcher(timedelta(seconds=120), clock)
    yield prefetcher
    prefetcher.close()


def settle(pending: ContextPrefetcher[str]) -> None:
    """Wait until everything asked for before is worked out:
    there is one worker, and it keeps the order.
    """
    is_done = threading.Event()
    while not pending.submit(f"barrier-{id(is_done)}", is_done.set):
        pass
    assert is_done.wait(10)


@pytest.mark.covers("S3.2")
def test_a_result_is_given_at_the_next_turn_and_once(pending: ContextPrefetcher[str]) -> None:
    """Taking empties it."""
    assert pending.take("one") is None
    assert pending.submit("one", lambda: "found")
    settle(pending)
    assert pending.take("one") == "found"
    assert pending.take("one") is None


@pytest.mark.covers("S3.3")
def test_conversations_do_not_cross(pending: ContextPrefetcher[str]) -> None:
    """Each gets its own; one worker serves them all, however often it is asked."""
    for name in ("one", "two"):
        assert pending.submit(name, lambda name=name: f"for {name}")  # type: ignore[misc]
    settle(pending)
    assert (
        len([thread for thread in threading.enumerate() if thread.name == "engrams-pending"]) == 1
    )
    assert pending.take("two") == "for two"
    assert pending.take("one") == "for one"


@pytest.mark.covers("S3.1", "S3.3")
def test_a_turn_never_waits(pending: ContextPrefetcher[str]) -> None:
    """With work that hangs, asking returns at once:
    one check a conversation, sixteen waiting, and the rest is let go.
    """
    hang = threading.Event()
    started = threading.Event()

    def slow() -> str:
        started.set()
        hang.wait(30)
        return "late"

    assert pending.submit("slow", slow)
    assert started.wait(10)
    assert not pending.submit("slow", lambda: "again")
    accepted = [pending.submit(str(number), lambda: "x") for number in range(20)]
    assert accepted == [True] * 16 + [False] * 4
    hang.set()
    settle(pending)
    assert pending.take("slow") == "late"


@pytest.mark.covers("S3.20")
def test_what_is_stale_or_off_topic_is_dropped(
    pending: ContextPrefetcher[str], clock: SettableClock
) -> None:
    """Two minutes are fresh, more are not; a new topic wants nothing of the one before."""
    for name in ("one", "two", "three"):
        pending.submit(name, lambda: "found")
    settle(pending)
    clock.forward(seconds=120)
    assert pending.take("one") == "found"
    pending.drop("three")
    assert pending.take("three") is None
    clock.forward(seconds=1)
    assert pending.take("two") is None


def test_closing_ends_the_worker(clock: SettableClock) -> None:
    """Nothing is taken on after it, and closing twice is closing once."""
    prefetcher: ContextPrefetcher[str] = ContextPrefetcher(timedelta(seconds=120), clock)
    assert prefetcher.submit("one", lambda: "found")
    prefetcher.close()
    prefetcher.close()
    assert not prefetcher.submit("two", lambda: "found")


@pytest.mark.covers("S3.34")
def test_a_failure_is_invisible_to_the_turn(
    pending: ContextPrefetcher[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, that turn gets nothing, and the next one is served."""

    def fail() -> str:
        raise ValueError("broken")

    assert pending.submit("one", fail)
    settle(pending)
    assert pending.take("one") is None
    assert "broken" in caplog.text
    assert pending.submit("one", lambda: "found")
    settle(pending)
    assert pending.take("one") == "found"
