"""Vectors of the memories that a conversation recalled last, in memory alone.

The working tier keeps one cache for each scope; a read takes a copy of it (``snapshot``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from engrams.core import Hit
from engrams.ports.hot_memories import HotMemories

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats


class RecalledVectorCache:
    """LRU cache of the vectors of at most ``size`` recalled memories. Thread safe."""

    def __init__(self, size: int, min_cosine: float) -> None:
        self._size = size
        self._min_cosine = min_cosine
        self._lock = Lock()
        self._vector_by_id: OrderedDict[str, Floats] = OrderedDict()

    def put(self, hits: Sequence[Hit], vectors: Floats) -> None:
        """Cache hits; row n of ``vectors`` [hits, dimension] belongs to hit n.

        Rows have unit length, or are zeros, which match nothing.
        """
        with self._lock:
            for hit, vector in zip(hits, vectors, strict=True):
                self._vector_by_id[hit.record.id] = vector
                self._vector_by_id.move_to_end(hit.record.id)
            while len(self._vector_by_id) > self._size:
                self._vector_by_id.popitem(last=False)

    def snapshot(self) -> HotMemories:
        """Copy what is cached, for one read."""
        with self._lock:
            return HotMemories(dict(self._vector_by_id), self._min_cosine)

    def drop(self, ids: Sequence[str]) -> None:
        with self._lock:
            for record_id in ids:
                self._vector_by_id.pop(record_id, None)

    def ids(self) -> tuple[str, ...]:
        """Ids of cached memories, least recently used first."""
        with self._lock:
            return tuple(self._vector_by_id)
