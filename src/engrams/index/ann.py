"""Best slots of scores, and nearest vectors by codes (turbovec), rescored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.index.columns import IndexColumns
from engrams.index.segment_file import release_pages

_SAMPLED = 40
"""Ratio of scores to ``width`` above which a sample is looked at first."""


MIN_CODED = 50_000
"""Slots above which vectors are searched by codes; below, an exact scan is as fast."""

_TAIL = 1024
"""Most slots without codes: turbovec arranges all its codes anew after an addition."""

_SCANS = 8
"""Most searches of mapped vectors while their codes are unpacked, which takes as long."""

_SPLIT = 700
"""Slots for each one that is wanted from which turbovec splits a search among threads."""

_SAMPLE = 2048
_NEARLY_ALL = 0.95

_ASKED = 16
_NEAREST = 100
_AMONG = 300
"""Proposals among which codes of two bits must have the ``_NEAREST`` of each asked vector."""
_FOUND = 0.99
"""Part of the nearest that must be there; else codes have four bits."""
_TIE = 1e-4
"""Difference up to which scores count as equal."""


def top_slots(scores: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.int64]:
    """Indices of the ``width`` highest positive scores; the last of equals."""
    # Zero is the commonest score, and a partition is slow among so many equals. A sample gives a
    # lower bound of the highest.
    bound = np.float32(0)
    if len(scores) > _SAMPLED * width:
        sample = scores[:: len(scores) // (10 * width)]
        some = sample[sample > 0]
        place = len(some) - 1 - 4 * width * len(sample) // len(scores) - 8
        if place >= 0:
            bound = np.partition(some, place)[place]
    found = np.flatnonzero(scores > bound)
    if bound and len(found) < width:
        found = np.flatnonzero(scores >= bound)
        if len(found) >= width:
            return _select(found, scores[found], bound, width)
        found = np.flatnonzero(scores > 0)
    if len(found) <= width:
        return found
    some = scores[found]
    return _select(found, some, np.partition(some, len(some) - width)[len(some) - width], width)


def _select(
    found: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], bound: np.float32, width: int
) -> npt.NDArray[np.int64]:
    above = found[scores > bound]
    return np.concatenate([above, found[scores == bound][len(above) - width :]])


def unique_sorted(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sort slots and drop repeats.

    np.unique would load numpy.ma, which takes longer than a whole search.
    """
    ordered = np.sort(slots)
    kept: npt.NDArray[np.int64] = (
        ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    )
    return kept


def join_slots(groups: Sequence[npt.NDArray[np.int64]], size: int) -> npt.NDArray[np.int64]:
    """Join slots of ``size``, in order and each once; -1 is none."""
    held = np.zeros(size + 1, np.bool_)
    for slots in groups:
        held[slots] = True
    held[-1] = False
    return np.flatnonzero(held)


class AnnIndex:
    """Index of quantised vectors by slot, for approximate search."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: npt.NDArray[np.floating[Any]]) -> AnnIndex | None:
        """Build the index from vectors [slots, dimension].

        Codes have two bits a number where these tell what is near, else four: random vectors need
        them, texts do not. None where turbovec is not installed or cannot take the dimension.
        """
        if not cls.is_available() or vectors.shape[1] % 8:
            return None
        some = vectors[:: max(1, len(vectors) // MIN_CODED)]
        made = cls._code(some, 2)
        bits = 2 if _tells_nearest(made, some) else 4
        return made if bits == 2 and len(some) == len(vectors) else cls._code(vectors, bits)

    @classmethod
    def _code(cls, vectors: npt.NDArray[np.floating[Any]], bits: int) -> AnnIndex:
        from turbovec import TurboQuantIndex

        index = TurboQuantIndex(vectors.shape[1], bits)
        sample = np.random.default_rng(0).choice(
            len(vectors), min(_SAMPLE, len(vectors)), replace=False
        )
        index.calibrate(np.ascontiguousarray(vectors[np.sort(sample)], np.float32))
        made = cls(index)
        for start in range(0, len(vectors), 50_000):
            made.add(vectors[start : start + 50_000])
        made.prepare()
        return made

    def count_proposals(self, width: int) -> int:
        """Number of slots to propose for 0.98 recall of the nearest 100.

        Where two bits tell what is near, 1.3 times ``width``, and 1.5 times in an index of a
        million; where they do not, 1.5 and 3 times. Time grows with the square of the proposals:
        turbovec looks at all that it holds for each better one.
        """
        millions = len(self) / 1_000_000
        return round(
            width
            * (1.3 + min(0.2 * millions, 0.2) if self.bits == 2 else 1.5 + min(2 * millions, 1.5))
        )

    @staticmethod
    def is_available() -> bool:
        """Test whether turbovec is installed, without loading it."""
        return find_spec("turbovec") is not None

    @classmethod
    def decode(cls, data: bytes) -> AnnIndex | None:
        """Load an index from the bytes of ``encode``."""
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

    def add(self, vectors: npt.NDArray[np.floating[Any]]) -> None:
        """Append the next slots' vectors."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def search(
        self, vector: npt.NDArray[np.float32], count: int, mask: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Find up to ``count`` slots in ``mask``, approximately the nearest."""
        allowed = np.count_nonzero(mask)
        if not allowed:
            return np.zeros(0, np.int64)
        query = vector[None, :].astype(np.float32)
        if allowed < _NEARLY_ALL * len(mask):
            _, slots = self._index.search(query, count, mask=mask)
            return np.asarray(slots[0], np.int64)
        # Twice as fast without a mask: where nearly all slots are allowed, the others are removed
        # afterwards.
        _, slots = self._index.search(
            query, min(len(mask), count if allowed == len(mask) else count * 5 // 4)
        )
        found = np.asarray(slots[0], np.int64)
        return found[mask[found]]


def _tells_nearest(codes: AnnIndex, vectors: npt.NDArray[np.floating[Any]]) -> bool:
    """Test whether codes propose the nearest of some vectors early."""
    full = np.flatnonzero(vectors.any(axis=1))
    everything = np.ones(len(vectors), np.bool_)
    most = min(_NEAREST, len(vectors))
    found = []
    for slot in full[:: max(1, len(full) // _ASKED)]:
        scores = np.vecdot(vectors, vectors[slot])
        bound = np.partition(scores, len(scores) - most)[len(scores) - most] - _TIE
        offered = codes.search(vectors[slot], min(_AMONG, len(vectors)), everything)
        found.append(min(most, int(np.count_nonzero(scores[offered] >= bound))))
    return sum(found) >= _FOUND * most * len(found)


class CodeUnpacker(Thread):
    """Thread that decodes and arranges the codes of a file.

    ``codes``: None where another version of turbovec wrote them.
    """

    def __init__(self, packed: npt.NDArray[np.uint8]) -> None:
        super().__init__(name="engrams-codes", daemon=True)
        self._packed = packed
        self.codes: AnnIndex | None = None

    def run(self) -> None:
        with suppress(ValueError):
            codes = AnnIndex.decode(self._packed.tobytes())
            release_pages(self._packed)
            if codes is not None:
                codes.prepare()
            self.codes = codes


class _FindingThread(Thread):
    """Thread that finds the nearest slots of one search."""

    def __init__(self, find: Callable[[], npt.NDArray[np.int64]]) -> None:
        super().__init__(name="engrams-nearest", daemon=True)
        self._find = find
        self._found: npt.NDArray[np.int64] | None = None

    def run(self) -> None:
        self._found = self._find()

    def wait(self) -> npt.NDArray[np.int64]:
        """Slots that were found; what ended the thread is raised here."""
        self.join()
        return self._find() if self._found is None else self._found


class NearestVectorSearcher:
    """Nearest-vector search: quantised codes first, recent slots by a scan.

    ``packed``: codes of a file and the number of their slots. To unpack them takes as long as some
    scans of all vectors: the first searches scan, and from the second on a thread unpacks
    meanwhile, until it is done.
    """

    def __init__(
        self, codes: AnnIndex | None = None, packed: tuple[npt.NDArray[np.uint8], int] | None = None
    ) -> None:
        self.codes = codes
        self._packed = packed
        self._searches = 0
        self._unpacking: CodeUnpacker | None = None

    def extend(self, columns: IndexColumns, tail: int = _TAIL) -> None:
        """Code added rows, once there are more than ``tail`` of them."""
        if self._packed is not None and columns.size - self._packed[1] <= tail:
            return
        self.unpack(columns)
        if self.codes is not None:
            coded = len(self.codes)
            if columns.size - coded > tail:
                self.codes.add(columns.get_vectors(slice(coded, columns.size)))
        elif columns.size > MIN_CODED and not columns.is_quantized:
            self.codes = AnnIndex.build(columns.vectors)
            if self.codes is not None:
                columns.quantize()

    def unpack(self, columns: IndexColumns) -> None:
        """Decode the codes of a file, or code all vectors anew."""
        if self._packed is not None:
            size = self._packed[1]
            unpacking = self._start_unpacking(self._packed[0])
            unpacking.join()
            self._packed = self._unpacking = None
            self.codes = unpacking.codes or AnnIndex.build(columns.get_vectors(slice(0, size)))

    def _start_unpacking(self, packed: npt.NDArray[np.uint8]) -> CodeUnpacker:
        if self._unpacking is None:
            self._unpacking = CodeUnpacker(packed)
            self._unpacking.start()
        return self._unpacking

    @contextmanager
    def start_finding(
        self,
        columns: IndexColumns,
        vector: npt.NDArray[np.float32],
        mask: npt.NDArray[np.bool_],
        width: int,
    ) -> Iterator[Callable[[], npt.NDArray[np.int64]]]:
        """Run ``find`` in a thread; call what is given for its slots.

        Nothing of ``columns`` may change before the end. Where turbovec has threads of its own for
        it, another gains nothing.
        """
        find = partial(self.find, columns, vector, mask, width)
        if columns.size > _SPLIT * width:
            yield find
            return
        thread = _FindingThread(find)
        thread.start()
        try:
            yield thread.wait
        finally:
            thread.join()

    def find(
        self,
        columns: IndexColumns,
        vector: npt.NDArray[np.float32],
        mask: npt.NDArray[np.bool_],
        width: int,
    ) -> npt.NDArray[np.int64]:
        """Find the ``width`` nearest slots in ``mask``, rescoring those of codes."""
        if (
            self._packed is not None
            and self._searches < _SCANS
            and (self._unpacking is None or self._unpacking.is_alive())
        ):
            self._searches += 1
            if self._searches > 1:
                self._start_unpacking(self._packed[0])
            found = np.flatnonzero(mask)
            return found[top_slots(columns.scan(vector)[found], width)]
        self.unpack(columns)
        coded = 0 if self.codes is None else len(self.codes)
        found = coded + np.flatnonzero(mask[coded:])
        if self.codes is not None:
            found = np.concatenate(
                [self.codes.search(vector, self.codes.count_proposals(width), mask[:coded]), found]
            )
        return found[top_slots(columns.dots(found, vector), width)]
