"""Search for the vectors nearest to a query.

A code is a vector that turbovec compressed to a few bits a dimension. In a large index the codes
propose candidates, and their exact vectors give the scores. A small index has no codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Thread
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engrams.index import ann
from engrams.index.ann import AnnIndex
from engrams.index.columns import IndexColumns
from engrams.index.segment_file import release_pages
from engrams.index.slots import Flags, Floats, Slots, top_slots

_TAIL = 1024
"""Rows that may wait without a code. turbovec arranges all its codes anew after an addition, so rows
are added many at once.
"""

_SCANS = 8
"""Most searches that scan all vectors while a thread unpacks the codes: together they take as long as
the unpacking.
"""

_SPLIT = 700
"""Rows for each wanted result from which turbovec splits one search among threads."""


class CodeUnpacker(Thread):
    """Thread that decodes and arranges the codes of a file."""

    def __init__(self, packed: npt.NDArray[np.uint8]) -> None:
        super().__init__(name="engrams-codes", daemon=True)
        self._packed = packed
        self.codes: AnnIndex | None = None
        """None where another version of turbovec wrote them."""

    def run(self) -> None:
        """Decode the codes, and give the memory of the file back."""
        with suppress(ValueError):
            codes = AnnIndex.decode(self._packed.tobytes())
            release_pages(self._packed)
            if codes is not None:
                codes.prepare()
            self.codes = codes


class _NearestThread(Thread):
    """Thread that finds the nearest slots of one search."""

    def __init__(self, find: Callable[[], Slots]) -> None:
        super().__init__(name="engrams-nearest", daemon=True)
        self._find = find
        self._slots: Slots | None = None

    def run(self) -> None:
        """Find the slots."""
        self._slots = self._find()

    def wait(self) -> Slots:
        """Wait for the slots; if the thread failed, search again here."""
        self.join()
        return self._find() if self._slots is None else self._slots


class PackedCodes(NamedTuple):
    """Codes as an index file holds them."""

    data: npt.NDArray[np.uint8]
    slots: int
    """Slots from the first that have a code."""


class NearestVectorSearcher:
    """Nearest-vector search: quantised codes first, recent slots by a scan.

    Unpacking the codes of a file takes as long as some scans of all vectors. So the first searches
    scan. From the second search on, a thread unpacks the codes at the same time.
    """

    def __init__(self, codes: AnnIndex | None = None, packed: PackedCodes | None = None) -> None:
        """Search by ``codes``, or by those of a file (``packed``) once they are unpacked."""
        self.codes = codes
        """Codes of the first slots; None: there are too few."""
        self._packed = packed
        self._scans = 0
        self._unpacker: CodeUnpacker | None = None

    def extend(self, columns: IndexColumns, tail: int = _TAIL) -> None:
        """Add codes for new rows, once more than ``tail`` rows have none.

        The first codes are built when the index gets large enough.
        """
        if self._packed is not None and columns.size - self._packed.slots <= tail:
            return
        self.unpack(columns)
        if self.codes is not None:
            coded = len(self.codes)
            if columns.size - coded > tail:
                self.codes.add(columns.get_vectors(slice(coded, columns.size)))
        elif columns.size > ann.MIN_CODED and not columns.is_quantized:
            self.codes = AnnIndex.build(columns.vectors)
            if self.codes is not None:
                columns.quantize()

    def unpack(self, columns: IndexColumns) -> None:
        """Decode the codes of a file, or code all vectors anew."""
        if self._packed is None:
            return
        slots = slice(0, self._packed.slots)
        unpacker = self._start_unpacking(self._packed)
        unpacker.join()
        self._packed = None
        self._unpacker = None
        self.codes = unpacker.codes or AnnIndex.build(columns.get_vectors(slots))

    def _start_unpacking(self, packed: PackedCodes) -> CodeUnpacker:
        if self._unpacker is None:
            self._unpacker = CodeUnpacker(packed.data)
            self._unpacker.start()
        return self._unpacker

    @contextmanager
    def start_finding(
        self, columns: IndexColumns, vector: Floats, mask: Flags, width: int
    ) -> Iterator[Callable[[], Slots]]:
        """Run ``find`` in a thread; yields a function that waits for its slots.

        Nothing of ``columns`` may change before the end. Where turbovec has threads of its own for
        it, another gains nothing.
        """
        find = partial(self.find, columns, vector, mask, width)
        if columns.size > _SPLIT * width:
            yield find
            return
        thread = _NearestThread(find)
        thread.start()
        try:
            yield thread.wait
        finally:
            thread.join()

    def find(self, columns: IndexColumns, vector: Floats, mask: Flags, width: int) -> Slots:
        """Find the ``width`` nearest slots in ``mask`` [slots], rescoring those of codes."""
        if self._packed is not None and self._may_scan():
            self._scans += 1
            if self._scans > 1:
                self._start_unpacking(self._packed)
            slots = np.flatnonzero(mask)
            return slots[top_slots(columns.scan(vector)[slots], width)]
        self.unpack(columns)
        coded = 0 if self.codes is None else len(self.codes)
        slots = coded + np.flatnonzero(mask[coded:])
        if self.codes is not None:
            count = self.codes.count_proposals(width)
            slots = np.concatenate([self.codes.search(vector, count, mask[:coded]), slots])
        return slots[top_slots(columns.dots(slots, vector), width)]

    def _may_scan(self) -> bool:
        """True while the codes are not unpacked yet, and scans have not taken longer than that."""
        if self._scans >= _SCANS:
            return False
        return self._unpacker is None or self._unpacker.is_alive()
