"""Approximate search of vectors by quantised codes (TurboQuant), where turbovec is installed.

A code has two or four bits for each number of a vector. Codes propose slots, of which
``engrams.index.nearest`` computes the exact cosines.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.index.slots import NO_SLOTS, Flags, Floats, Slots

MIN_CODED = 50_000
"""Slots above which vectors are searched by codes; below, an exact scan is as fast."""

_CALIBRATED = 2048
"""Vectors that the codes are calibrated on."""
_BATCH = 50_000
"""Vectors coded at a time."""
_NEARLY_ALL = 0.95
"""Share of allowed slots from which a search without a mask, filtered afterwards, is faster."""

_TESTED = 16
"""Vectors whose nearest ones are looked for, to choose the bits of a code."""
_NEAREST = 100
_PROPOSED = 300
"""Proposals among which codes of two bits must have the ``_NEAREST`` of each tested vector."""
_LEAST_RECALL = 0.99
"""Part of the nearest that must be there; else codes have four bits."""
_TIE = 1e-4
"""Difference up to which scores count as equal."""

_Vectors = npt.NDArray[np.floating[Any]]


class AnnIndex:
    """Index of quantised vectors by slot, for approximate search."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: _Vectors) -> AnnIndex | None:
        """Build the index from vectors [slots, dimension].

        Codes have two bits a number where these tell what is near, else four: random vectors need
        them, texts do not. None where turbovec is not installed or cannot take the dimension.
        """
        if not cls.is_available() or vectors.shape[1] % 8:
            return None
        sample = vectors[:: max(1, len(vectors) // MIN_CODED)]
        two_bits = cls._code(sample, 2)
        if not _proposes_nearest(two_bits, sample):
            return cls._code(vectors, 4)
        return two_bits if len(sample) == len(vectors) else cls._code(vectors, 2)

    @classmethod
    def _code(cls, vectors: _Vectors, bits: int) -> AnnIndex:
        from turbovec import TurboQuantIndex

        index = TurboQuantIndex(vectors.shape[1], bits)
        count = min(_CALIBRATED, len(vectors))
        sample = np.random.default_rng(0).choice(len(vectors), count, replace=False)
        index.calibrate(np.ascontiguousarray(vectors[np.sort(sample)], np.float32))
        codes = cls(index)
        for start in range(0, len(vectors), _BATCH):
            codes.add(vectors[start : start + _BATCH])
        codes.prepare()
        return codes

    def count_proposals(self, width: int) -> int:
        """Number of slots to propose for 0.98 recall of the nearest 100.

        Where two bits tell what is near, 1.3 times ``width``, and 1.5 times in an index of a
        million; where they do not, 1.5 and 3 times. Time grows with the square of the proposals:
        turbovec looks at all that it holds for each better one.
        """
        millions = len(self) / 1_000_000
        if self.bits == 2:
            return round(width * (1.3 + min(0.2 * millions, 0.2)))
        return round(width * (1.5 + min(2 * millions, 1.5)))

    @staticmethod
    def is_available() -> bool:
        """Test whether turbovec is installed, without loading it."""
        return find_spec("turbovec") is not None

    @classmethod
    def decode(cls, data: bytes) -> AnnIndex | None:
        """Load an index from the bytes of ``encode``; None: turbovec is not installed.

        ValueError: another version of turbovec wrote them.
        """
        try:
            from turbovec import TurboQuantIndex
        except ImportError:
            return None
        return cls(TurboQuantIndex.from_bytes(data))

    def prepare(self) -> None:
        """Arrange the codes for searches; the first one would."""
        # turbovec's own prepare leaves most of that to the first search.
        self._index.search(np.ones((1, self._index.dim), np.float32), 1)

    def encode(self) -> bytes:
        """Encode as bytes, of turbovec's own format."""
        data: bytes = self._index.to_bytes()
        return data

    def __len__(self) -> int:
        return len(self._index)

    @property
    def bits(self) -> int:
        """Bits of each number of a code."""
        bits: int = self._index.bit_width
        return bits

    def add(self, vectors: _Vectors) -> None:
        """Append the next slots' vectors [slots, dimension]."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def search(self, vector: Floats, count: int, mask: Flags) -> Slots:
        """Find up to ``count`` slots in ``mask`` [slots], approximately the nearest."""
        allowed = np.count_nonzero(mask)
        if not allowed:
            return NO_SLOTS
        query = vector[None, :].astype(np.float32)
        if allowed < _NEARLY_ALL * len(mask):
            _, slots = self._index.search(query, count, mask=mask)
            return np.asarray(slots[0], np.int64)
        # Twice as fast without a mask: where nearly all slots are allowed, the others are removed
        # afterwards.
        proposed = count if allowed == len(mask) else count * 5 // 4
        _, slots = self._index.search(query, min(len(mask), proposed))
        nearest = np.asarray(slots[0], np.int64)
        return nearest[mask[nearest]]


def _proposes_nearest(codes: AnnIndex, vectors: _Vectors) -> bool:
    """Test whether codes propose the nearest of some vectors early."""
    filled = np.flatnonzero(vectors.any(axis=1))
    everything = np.ones(len(vectors), np.bool_)
    wanted = min(_NEAREST, len(vectors))
    tested = filled[:: max(1, len(filled) // _TESTED)]
    recalled = 0
    for slot in tested:
        cosines = np.vecdot(vectors, vectors[slot])
        rank = len(cosines) - wanted
        bound = np.partition(cosines, rank)[rank] - _TIE
        proposals = codes.search(vectors[slot], min(_PROPOSED, len(vectors)), everything)
        recalled += min(wanted, int(np.count_nonzero(cosines[proposals] >= bound)))
    return recalled >= _LEAST_RECALL * wanted * len(tested)
