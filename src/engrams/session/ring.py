"""The working tier of one scope: its last few items, the oldest leaving first (000). This process only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeAlias

from engrams.types import Record

Source: TypeAlias = Literal["user", "agent", "promoted_l1", "promoted_l2"]
"""Who said it; or that it is a copy of a memory that was recalled from the recent tier, or from the long term."""

NEUTRAL = 0.5


@dataclass(slots=True)
class RingItem:
    """One item; ``importance`` (0..1) may change while it is here. ``text``: what a prompt shows of it."""

    record: Record
    source: Source
    text: str
    importance: float = NEUTRAL

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def is_copy(self) -> bool:
        """Whether it is a recalled memory, and so nothing new."""
        return self.source in ("promoted_l1", "promoted_l2")


class RingBuffer:
    """At most ``size`` items; one more pushes the oldest out through ``evicted``. Thread safe.

    ``writing`` is for callers that must store what they put in, in the order in which they put it: nothing here takes it.
    """

    def __init__(self, size: int, evicted: Callable[[RingItem], None] = lambda _item: None) -> None:
        self._size, self._evicted = size, evicted
        self._items: deque[RingItem] = deque()
        self._lock = Lock()
        self.writing = Lock()

    def append(self, items: Iterable[RingItem]) -> None:
        """Put items in, in their order."""
        for item in items:
            with self._lock:
                gone = self._items.popleft() if len(self._items) >= self._size else None
                self._items.append(item)
            if gone is not None:
                self._evicted(gone)

    def preview_evictions(self, number: int) -> tuple[RingItem, ...]:
        """Those that so many more would push out, oldest first; of more than there is room for, the first ones are not told."""
        with self._lock:
            over = len(self._items) + number - self._size
            return tuple(self._items)[: max(over, 0)]

    def evict(self, ids: Collection[str]) -> None:
        """Push out some before their time."""
        with self._lock:
            gone = [item for item in self._items if item.id in ids]
            self._items = deque(item for item in self._items if item.id not in ids)
        for item in gone:
            self._evicted(item)

    def drop(self, ids: Collection[str]) -> None:
        """Let go of some without a word: what was forgotten or purged is not at hand either."""
        with self._lock:
            self._items = deque(item for item in self._items if item.id not in ids)

    def drain(self) -> tuple[RingItem, ...]:
        """Take all out, oldest first."""
        with self._lock:
            items = tuple(self._items)
            self._items.clear()
        return items

    def get_by_id(self, id: str) -> RingItem | None:
        """The live item of that id."""
        with self._lock:
            return next((item for item in self._items if item.id == id), None)

    def set_importance(self, id: str, importance: float) -> bool:
        """Set the importance of an item. False: it is not here (any more)."""
        with self._lock:
            found = next((item for item in self._items if item.id == id), None)
            if found is not None:
                found.importance = importance
            return found is not None

    def items(self) -> tuple[RingItem, ...]:
        """All, oldest first."""
        with self._lock:
            return tuple(self._items)

    def last(self, number: int) -> tuple[RingItem, ...]:
        """The last items of the conversation itself, oldest first; copies do not count."""
        said = [item for item in self.items() if not item.is_copy]
        return tuple(said[-number:]) if number > 0 else ()

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)
