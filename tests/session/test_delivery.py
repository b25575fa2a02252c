"""A conversation gets memory turn by turn, on a real engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from threading import Event

import pytest

from engrams import MemoryEngine
from engrams.core import Context, Turn
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
KEY = "the spare key is under the blue pot"
CAT = "Felix the cat hates thunder and rain"


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture
def behind(clock: SettableClock) -> Iterator[MemoryEngine]:
    """An engine that delivers one turn behind."""
    with temp_engine(
        delivery__mode="pending",
        delivery__shown_minutes=45,
        jobs__workers=0,
        clock=clock,
        embedder=HashEmbedder(),
    ) as engine:
        engine.add(KEY, scope=ANN)
        engine.add(CAT, scope=ANN)
        yield engine


def told(context: Context) -> list[str]:
    """The texts of a context's hits."""
    return [hit.record.text for hit in context.hits]


def settle(engine: MemoryEngine) -> None:
    """Wait until nothing is being worked out."""
    for _ in range(1000):
        if not engine._components.delivery._pending._working:
            return
        time.sleep(0.01)


@pytest.mark.covers("S3.2", "S3.3")
def test_a_turn_gets_what_was_found_during_the_one_before(behind: MemoryEngine) -> None:
    """The first gets nothing, the next what the first asked for, and another conversation none of
    it.
    """
    assert behind.deliver("spare key pot", scope=ANN, session="one").text == ""
    settle(behind)
    assert behind.deliver("spare key pot", scope=ANN, session="two").text == ""
    settle(behind)
    assert told(behind.deliver("spare key pot", scope=ANN, session="one"))[0] == KEY
    settle(behind)
    assert KEY not in told(behind.deliver("spare key pot", scope=ANN, session="one"))


@pytest.mark.covers("S3.20")
def test_what_waits_too_long_is_dropped(behind: MemoryEngine, clock: SettableClock) -> None:
    """After two minutes it is no longer about this conversation's moment."""
    behind.deliver("spare key pot", scope=ANN, session="one")
    settle(behind)
    clock.forward(seconds=121)
    assert behind.deliver("spare key pot", scope=ANN, session="one").hits == ()


class Hanging(HashEmbedder):
    """An embedder whose queries wait for a word."""

    def __init__(self) -> None:
        super().__init__()
        self.go = Event()

    def embed(self, texts: Sequence[str], purpose: str = "document"):  # type: ignore[no-untyped-def,override]
        """Wait, then answer."""
        if purpose == "query":
            self.go.wait(30)
        return super().embed(texts, "query" if purpose == "query" else "document")


@pytest.mark.covers("S3.1")
def test_a_turn_does_not_wait_for_a_hung_embedder() -> None:
    """The call is back while the model hangs, and what it finds comes later."""
    embedder = Hanging()
    with temp_engine(delivery__mode="pending", jobs__workers=0, embedder=embedder) as engine:
        engine.add(KEY, scope=ANN)
        assert engine.deliver("spare key pot", scope=ANN, session="one").text == ""
        assert engine.deliver("spare key pot", scope=ANN, session="one").text == ""
        embedder.go.set()
        settle(engine)
        assert told(engine.deliver("spare key pot", scope=ANN, session="one")) == [KEY]


@pytest.mark.covers("S3.19", "S3.20", "S3.21")
def test_what_was_shown_is_not_shown_again_until_the_topic_changes(clock: SettableClock) -> None:
    """Nor is what the conversation said itself; another one sees both."""
    with temp_engine(
        delivery__shown_minutes=45,
        read__prefix_tokens=0,
        jobs__workers=0,
        clock=clock,
        embedder=HashEmbedder(),
    ) as engine:
        engine.add(KEY, scope=ANN)
        engine.observe(
            Turn("my spare key was in a pot of honey last year", session="one"), scope=ANN
        )
        assert told(engine.deliver("spare key pot", scope=ANN, session="one")) == [KEY]
        assert told(engine.deliver("spare key pot", scope=ANN, session="one")) == []
        assert len(told(engine.deliver("spare key pot", scope=ANN, session="two"))) == 2
        clock.forward(minutes=10)
        engine.deliver("Felix thunder rain", scope=ANN, session="one")
        assert told(engine.deliver("spare key pot", scope=ANN, session="one")) == [KEY]


def test_by_default_a_turn_gets_its_context_at_once() -> None:
    """The same as a context, as often as it is asked for."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(KEY, scope=ANN)
        for _ in range(2):
            context = engine.deliver(
                "Where is the spare key?", scope=ANN, session="one", tokens=100
            )
            assert KEY in context.text
            assert context.tokens <= 100
