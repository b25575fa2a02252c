"""LRU cache of recently used memories, searched before the store (000)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from engrams.types import Hit

if TYPE_CHECKING:
    from engrams.ports.search import Floats


class HotCache:
    """LRU cache of at most ``size`` hits with their vectors. Thread safe."""

    def __init__(self, size: int, floor: float) -> None:
        self._size, self._floor = size, floor
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[Hit, Floats]] = OrderedDict()

    def put(self, hits: Sequence[Hit], vectors: Floats) -> None:
        """Cache hits; row n of ``vectors`` [hits, dimension] belongs to hit n.

        Rows have unit length, or are zeros, which match nothing.
        """
        with self._lock:
            for hit, vector in zip(hits, vectors, strict=True):
                self._kept[hit.record.id] = (hit, vector)
                self._kept.move_to_end(hit.record.id)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def find_near(self, vector: Floats | None, *, touch: bool = True) -> tuple[Hit, ...]:
        """Return copies of hits with a cosine at the floor or above.

        Best first; ``parts["sub_sim"]`` is the cosine. Found hits count as used, unless ``touch`` is off.
        """
        if vector is None:
            return ()
        with self._lock:
            likeness = {name: float(vector @ known) for name, (_, known) in self._kept.items() if len(known) == len(vector)}
            close = sorted((name for name, cosine in likeness.items() if cosine >= self._floor - 1e-6), key=lambda name: likeness[name])
            for name in close if touch else ():
                self._kept.move_to_end(name)
            found = [(self._kept[name][0], likeness[name]) for name in reversed(close)]
        return tuple(replace(hit, parts={**hit.parts, "sub_sim": round(cosine, 4)}) for hit, cosine in found)

    def drop(self, ids: Sequence[str]) -> None:
        with self._lock:
            for name in ids:
                self._kept.pop(name, None)

    def ids(self) -> tuple[str, ...]:
        """Ids of cached memories, least recently used first."""
        with self._lock:
            return tuple(self._kept)
