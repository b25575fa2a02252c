"""Inverted index: a few sorted segments that merge as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_NOTHING = np.zeros(0, np.int32), np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class PostingSegment:
    """Postings sorted by term, then slot; ``starts[i]:starts[i+1]`` belong to ``terms[i]``."""

    terms: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.terms.nbytes + self.starts.nbytes + self.slots.nbytes + self.counts.nbytes

    def get(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        place = int(np.searchsorted(self.terms, term))
        if place == len(self.terms) or self.terms[place] != term:
            return _NOTHING
        start, end = self.starts[place], self.starts[place + 1]
        return self.slots[start:end], self.counts[start:end]


class Postings:
    """Term -> slots and counts; append-only, readers mask dead slots."""

    def __init__(self) -> None:
        self._segments: list[PostingSegment] = []

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def add(self, first: int, blobs: Sequence[bytes]) -> None:
        """Append lexemes (uint32 term ids) of the slots from ``first`` on."""
        lengths = np.fromiter((len(blob) // 4 for blob in blobs), np.int64, len(blobs))
        terms = np.frombuffer(b"".join(blobs), np.uint32)
        if len(terms):
            slots = np.repeat(np.arange(first, first + len(blobs), dtype=np.uint64), lengths)
            keys, counts = np.unique(terms.astype(np.uint64) << np.uint64(32) | slots, return_counts=True)
            self._append(_make_segment(keys, counts.astype(np.float32)))

    def get(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Slots that hold a term, each once, and its counts there."""
        found = [pair for segment in self._segments if len((pair := segment.get(term))[0])]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        return np.concatenate([slots for slots, _ in found]), np.concatenate([counts for _, counts in found])

    def _append(self, segment: PostingSegment) -> None:
        """Append, merging segments of similar size: about log2(n) remain."""
        while self._segments and len(self._segments[-1].slots) < 2 * len(segment.slots):
            segment = _merge(self._segments.pop(), segment)
        self._segments.append(segment)


def _make_segment(keys: npt.NDArray[np.uint64], counts: npt.NDArray[np.float32]) -> PostingSegment:
    terms = (keys >> np.uint64(32)).astype(np.uint32)
    heads = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
    starts = np.concatenate([heads, [len(terms)]]).astype(np.int64)
    return PostingSegment(terms[heads], starts, (keys & np.uint64(0xFFFFFFFF)).astype(np.int32), counts)


def _merge(one: PostingSegment, other: PostingSegment) -> PostingSegment:
    keys = np.concatenate([_keys(one), _keys(other)])
    order = np.argsort(keys, kind="stable")
    return _make_segment(keys[order], np.concatenate([one.counts, other.counts])[order])


def _keys(segment: PostingSegment) -> npt.NDArray[np.uint64]:
    terms = np.repeat(segment.terms.astype(np.uint64), np.diff(segment.starts))
    return terms << np.uint64(32) | segment.slots.astype(np.uint64)
