"""Ring buffer of a scope: the items of the working tier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeAlias

from engrams.core import Record

Source: TypeAlias = Literal["user", "agent", "promoted_l1", "promoted_l2"]
"""Speaker, or the tier of a recalled copy: ``promoted_l1`` recent, ``promoted_l2`` long term."""


@dataclass(slots=True)
class WorkingTierItem:
    """Item of the working tier."""

    record: Record
    source: Source
    text: str
    """As a context shows it."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def is_copy(self) -> bool:
        return self.source in ("promoted_l1", "promoted_l2")


class RingBuffer:
    """Ring buffer of ``size`` items; the oldest leaves through ``on_evict``. Thread safe."""

    def __init__(
        self, size: int, on_evict: Callable[[WorkingTierItem], None] = lambda _item: None
    ) -> None:
        self._size = size
        self._on_evict = on_evict
        self._items: deque[WorkingTierItem] = deque()
        self._lock = Lock()
        self.writing = Lock()
        """For callers that must store items in the order of insertion; no method here takes it."""

    def append(self, items: Iterable[WorkingTierItem], *, trim: bool = True) -> None:
        """Add items, newest last.

        ``trim``: the oldest ones leave at once; else they stay above the size until they are
        evicted.
        """
        for item in items:
            evicted = None
            with self._lock:
                if trim and len(self._items) >= self._size:
                    evicted = self._items.popleft()
                self._items.append(item)
            # Outside of the lock: the listener may use this buffer.
            if evicted is not None:
                self._on_evict(evicted)

    def preview_evictions(self, number: int) -> tuple[WorkingTierItem, ...]:
        """Return items that adding ``number`` entries would evict, oldest first.

        Of more entries than fit, the first new ones are not included.
        """
        with self._lock:
            excess = len(self._items) + number - self._size
            return tuple(self._items)[: max(excess, 0)]

    def evict(self, ids: Collection[str]) -> None:
        """Remove items, each through ``on_evict``."""
        with self._lock:
            evicted = [item for item in self._items if item.id in ids]
            self._items = deque(item for item in self._items if item.id not in ids)
        for item in evicted:
            self._on_evict(item)

    def drop(self, ids: Collection[str]) -> None:
        """Remove forgotten or purged items without calling ``on_evict``."""
        with self._lock:
            self._items = deque(item for item in self._items if item.id not in ids)

    def drain(self) -> tuple[WorkingTierItem, ...]:
        """Remove and return all items, oldest first."""
        with self._lock:
            items = tuple(self._items)
            self._items.clear()
        return items

    def get_by_id(self, id: str) -> WorkingTierItem | None:
        """Return the item of that id; None where it left."""
        with self._lock:
            return next((item for item in self._items if item.id == id), None)

    def items(self) -> tuple[WorkingTierItem, ...]:
        with self._lock:
            return tuple(self._items)

    def last(self, number: int) -> tuple[WorkingTierItem, ...]:
        """Return the last items that were said, oldest first; copies do not count."""
        originals = [item for item in self.items() if not item.is_copy]
        return tuple(originals[-number:]) if number > 0 else ()

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)
