"""Postings: which slots hold a term, and how often.

``InvertedIndex`` is append-only. A few postings wait by term; the others lie in segments sorted by
term and slot, which are merged by size, so that about log2(n) of them remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engrams.frozen_data import dataclass
from engrams.index.slots import Floats, PostingSlots

_NO_POSTINGS: tuple[PostingSlots, Floats] = np.zeros(0, np.int32), np.zeros(0, np.float32)

_MOST_WAITING = 4_096
"""Postings of few records that are kept by term before they become a segment: sorting arrays of a
dozen words takes longer.
"""
_FEW_ROWS = 8
"""Records at a time up to which that is done."""

_SLOT_BITS = np.uint64(32)
_SLOT_MASK = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class PostingSegment:
    """Postings sorted by term, then slot: ``starts[i]:starts[i + 1]`` belong to ``terms[i]``."""

    terms: npt.NDArray[np.uint32]
    """Numbers of terms [terms], ascending."""
    starts: npt.NDArray[np.int64]
    """Position of each term's first posting, and the number of postings [terms + 1]."""
    slots: PostingSlots
    """Slots [postings]."""
    counts: npt.NDArray[np.float32 | np.uint8]
    """Frequency of the term in the slot [postings]: whole numbers, as bytes in a file where these
    hold them.
    """

    @property
    def size(self) -> int:
        """Bytes of memory that the arrays take."""
        return self.terms.nbytes + self.starts.nbytes + self.slots.nbytes + self.counts.nbytes

    def get(self, term: int) -> tuple[PostingSlots, Floats]:
        """Slots that hold a term, and its counts there."""
        # A number of the array's own type: any other would widen the whole array first.
        position = int(self.terms.searchsorted(np.uint32(term)))
        if position == len(self.terms) or self.terms[position] != term:
            return _NO_POSTINGS
        start = self.starts[position]
        end = self.starts[position + 1]
        return self.slots[start:end], self.counts[start:end].astype(np.float32, copy=False)


class InvertedIndex:
    """Slots and counts of each term; append-only, readers mask dead slots."""

    def __init__(self, segments: Sequence[PostingSegment] = ()) -> None:
        self._segments = [*segments]
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        """Slots and counts of each term that are in no segment yet."""
        self._waiting_count = 0

    def merge(self) -> PostingSegment | None:
        """Merge all segments into one; None: there is none."""
        self._settle()
        while len(self._segments) > 1:
            self._segments[-2:] = [_merge(*self._segments[-2:])]
        return self._segments[0] if self._segments else None

    @property
    def size(self) -> int:
        """Bytes of memory that the segments take."""
        return sum(segment.size for segment in self._segments)

    def add(self, first_slot: int, lexemes: Sequence[bytes]) -> None:
        """Append the terms of the slots from ``first_slot`` on.

        ``lexemes``: numbers of the terms of each slot, uint32 in the order of its text.
        """
        if len(lexemes) <= _FEW_ROWS:
            for slot, blob in enumerate(lexemes, first_slot):
                counts = Counter(np.frombuffer(blob, np.uint32).tolist())
                for term, count in counts.items():
                    self._waiting.setdefault(term, []).append((slot, count))
                self._waiting_count += len(counts)
            if self._waiting_count > _MOST_WAITING:
                self._settle()
            return
        self._settle()
        lengths = np.fromiter((len(blob) // 4 for blob in lexemes), np.int64, len(lexemes))
        terms = np.frombuffer(b"".join(lexemes), np.uint32)
        if len(terms):
            end = first_slot + len(lexemes)
            slots = np.repeat(np.arange(first_slot, end, dtype=np.uint64), lengths)
            keys, counts = np.unique(
                terms.astype(np.uint64) << _SLOT_BITS | slots, return_counts=True
            )
            self._append(_make_segment(keys, counts.astype(np.float32)))

    def get(self, term: int) -> tuple[PostingSlots, Floats]:
        """Slots that hold a term, each once, and its counts there."""
        postings = [segment.get(term) for segment in self._segments]
        if term in self._waiting:
            slots, counts = zip(*self._waiting[term], strict=True)
            postings.append((np.array(slots, np.int32), np.array(counts, np.float32)))
        filled = [(slots, counts) for slots, counts in postings if len(slots)]
        if not filled:
            return _NO_POSTINGS
        if len(filled) == 1:
            return filled[0]
        return (
            np.concatenate([slots for slots, _ in filled]),
            np.concatenate([counts for _, counts in filled]),
        )

    def holds(self, term: int) -> bool:
        """True where some slot holds a term."""
        return term in self._waiting or any(len(segment.get(term)[0]) for segment in self._segments)

    def _settle(self) -> None:
        """Make a segment of what waits."""
        if not self._waiting:
            return
        entries = sorted(
            (term << 32 | slot, count)
            for term, postings in self._waiting.items()
            for slot, count in postings
        )
        keys, counts = zip(*entries, strict=True)
        self._waiting = {}
        self._waiting_count = 0
        self._append(_make_segment(np.array(keys, np.uint64), np.array(counts, np.float32)))

    def _append(self, segment: PostingSegment) -> None:
        # Segments of similar size are merged: about log2(n) remain.
        while self._segments and len(self._segments[-1].slots) < 2 * len(segment.slots):
            segment = _merge(self._segments.pop(), segment)
        self._segments.append(segment)


def _make_segment(keys: npt.NDArray[np.uint64], counts: Floats) -> PostingSegment:
    """Make a segment from sorted keys [postings]: a term in the upper half, a slot in the lower."""
    terms = (keys >> _SLOT_BITS).astype(np.uint32)
    firsts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
    return PostingSegment(
        terms=terms[firsts],
        starts=np.concatenate([firsts, [len(terms)]]).astype(np.int64),
        slots=(keys & _SLOT_MASK).astype(np.int32),
        counts=counts,
    )


def _merge(first: PostingSegment, second: PostingSegment) -> PostingSegment:
    keys = np.concatenate([_keys(first), _keys(second)])
    order = np.argsort(keys, kind="stable")
    return _make_segment(keys[order], np.concatenate([first.counts, second.counts])[order])


def _keys(segment: PostingSegment) -> npt.NDArray[np.uint64]:
    """Sort keys of a segment's postings."""
    terms = np.repeat(segment.terms.astype(np.uint64), np.diff(segment.starts))
    return terms << _SLOT_BITS | segment.slots.astype(np.uint64)
