"""Nearest vectors in a large index: 4-bit codes (turbovec) find them, vectors of eight bits a number rescore them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_SAMPLE = 2048
_BITS = 4
_MOST = 0.95


def proposed(width: int, size: int) -> int:
    """How many of ``size`` slots codes are to propose, so that 0.98 of the ``width`` nearest are among them: three and a half times as
    many in a million, half as many again in a few; each of them costs as much time as hundreds that are looked over."""
    return round(width * (1.5 + 2 * size / 1_000_000))


class Near:
    """Codes of the vectors of slots 0, 1, 2, …; a search takes a mask of the slots that may answer."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def over(cls, vectors: npt.NDArray[np.floating[Any]]) -> Near | None:
        """An index of these vectors [slots, dimension]; None where turbovec is not installed or cannot take the dimension."""
        try:
            from turbovec import TurboQuantIndex
        except ImportError:
            return None
        if vectors.shape[1] % 8:
            return None
        index = TurboQuantIndex(vectors.shape[1], _BITS)
        sample = np.random.default_rng(0).choice(len(vectors), min(_SAMPLE, len(vectors)), replace=False)
        index.calibrate(np.ascontiguousarray(vectors[np.sort(sample)], np.float32))
        near = cls(index)
        for start in range(0, len(vectors), 50_000):
            near.add(vectors[start : start + 50_000])
        index.prepare()
        return near

    def __len__(self) -> int:
        return len(self._index)

    def add(self, vectors: npt.NDArray[np.floating[Any]]) -> None:
        """The next slots' vectors."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def search(self, vector: npt.NDArray[np.float32], count: int, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Up to ``count`` slots, about the nearest of those in ``mask``."""
        seen = np.count_nonzero(mask)
        if not seen:
            return np.zeros(0, np.int64)
        query = vector[None, :].astype(np.float32)
        if seen < _MOST * len(mask):
            _, slots = self._index.search(query, count, mask=mask)
            return np.asarray(slots[0], np.int64)
        # Without a mask it is twice as fast: where nearly all may answer, what may not is left out afterwards.
        _, slots = self._index.search(query, min(len(mask), count if seen == len(mask) else count * 5 // 4))
        found = np.asarray(slots[0], np.int64)
        return found[mask[found]]
