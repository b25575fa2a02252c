"""Memories that a conversation used lately, at hand before anything is searched (000). This process only."""

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
    """At most ``size`` hits with their vectors; the one not used for longest leaves first. Thread safe."""

    def __init__(self, size: int, floor: float) -> None:
        self._size, self._floor = size, floor
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[Hit, Floats]] = OrderedDict()

    def put(self, hits: Sequence[Hit], vectors: Floats) -> None:
        """Put hits at hand; row n of ``vectors`` is of hit n, of unit length, or zeros (which is like nothing)."""
        with self._lock:
            for hit, vector in zip(hits, vectors, strict=True):
                self._kept[hit.record.id] = (hit, vector)
                self._kept.move_to_end(hit.record.id)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def find_near(self, vector: Floats | None, *, touch: bool = True) -> tuple[Hit, ...]:
        """Copies of those with a cosine from the floor on, best first; ``parts["sub_sim"]`` is the cosine. Finding is using,
        unless ``touch`` is off."""
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
        """Let go of some: what was forgotten, replaced or purged is not at hand either."""
        with self._lock:
            for name in ids:
                self._kept.pop(name, None)

    def ids(self) -> tuple[str, ...]:
        """Those at hand, the one not used for longest first."""
        with self._lock:
            return tuple(self._kept)
