"""The ring of the last items: first in, first out."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from engrams.core import Kind, Record, Scope
from engrams.settings import TierSettings
from engrams.write.ring_buffer import RingBuffer, Source, WorkingTierItem

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def item(name: str, source: Source = "user") -> WorkingTierItem:
    """An item of that id."""
    return WorkingTierItem(
        Record(id=name, scope=Scope(("user", "ann")), kind=Kind.TURN, text=name, recorded_at=NOW),
        source,
        name,
    )


def ids(items: tuple[WorkingTierItem, ...]) -> list[str]:
    """Their ids."""
    return [item.id for item in items]


@pytest.mark.covers("S0.8")
def test_the_twenty_first_pushes_out_the_oldest() -> None:
    """Through the callback, in the order in which they came; another size is another number."""
    assert TierSettings().working_size == 20
    evicted: list[str] = []
    ring = RingBuffer(20, lambda item: evicted.append(item.id))
    ring.append(item(str(number)) for number in range(20))
    assert evicted == []
    ring.append([item("20")])
    assert evicted == ["0"]
    ring.append([item("21"), item("22")])
    assert evicted == ["0", "1", "2"]
    assert len(ring) == 20
    small = RingBuffer(2, lambda item: evicted.append(item.id))
    small.append([item("x"), item("y"), item("z")])
    assert evicted[-1] == "x"


@pytest.mark.covers("S0.13")
def test_items_are_found_by_id_and_drained_oldest_first() -> None:
    """Draining leaves nothing; the live item is the one that is here."""
    ring = RingBuffer(3, lambda item: None)
    ring.append([item("a"), item("b"), item("c")])
    assert ring.get_by_id("b") is ring.items()[1]
    assert ring.get_by_id("z") is None
    assert ids(ring.drain()) == ["a", "b", "c"]
    assert (ring.drain(), len(ring)) == ((), 0)


@pytest.mark.covers("S0.39")
def test_the_last_of_the_conversation_is_without_copies() -> None:
    """Five things said, however many memories were recalled between them."""
    ring = RingBuffer(20, lambda item: None)
    ring.append(
        [
            item("a"),
            item("b", "agent"),
            item("m", "promoted_l1"),
            item("c"),
            item("n", "promoted_l2"),
            item("d"),
        ]
    )
    assert ids(ring.last(3)) == ["b", "c", "d"]
    assert ids(ring.last(0)) == []
    assert [item.is_copy for item in ring.items()] == [False, False, True, False, True, False]


def test_what_would_leave_is_known_before_it_does() -> None:
    """As many as do not fit any more; and dropping is not pushing out."""
    evicted: list[str] = []
    ring = RingBuffer(3, lambda item: evicted.append(item.id))
    ring.append([item("a"), item("b"), item("c")])
    assert ids(ring.preview_evictions(0)) == []
    assert ids(ring.preview_evictions(2)) == ["a", "b"]
    assert ids(ring.preview_evictions(9)) == ["a", "b", "c"]
    ring.drop(["a", "unknown"])
    assert evicted == []
    ring.evict({"b"})
    assert (evicted, ids(ring.items())) == (["b"], ["c"])


def test_many_may_append_at_once() -> None:
    """Nothing is pushed out twice, and nothing disappears."""
    evicted: list[str] = []
    ring = RingBuffer(50, lambda item: evicted.append(item.id))
    threads = [
        threading.Thread(target=ring.append, args=([item(f"{n}-{m}") for m in range(200)],))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remaining = ids(ring.items())
    assert len(remaining) == 50
    assert len({*evicted, *remaining}) == len(evicted) + len(remaining) == 800
