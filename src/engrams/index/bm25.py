"""Postings, and BM25 of records, windows of turns and whole sessions.

Statistics are those of the view. Each score is divided by the most that the query could score, so
that it is absolute: 1 is a text in which every word of the query, known or not, is as frequent as
counts. (Robertson and Zaragoza 2009; k1 and b as measured on chats, see docs/concepts/recall.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.frozen_data import dataclass
from engrams.index.candidate_view import WINDOW, CandidateColumns, TermPostings, VisibleIndexView
from engrams.index.columns import IndexColumns

_NOTHING = np.zeros(0, np.int32), np.zeros(0, np.float32)


_LATEST = 4_096
"""Postings of few records that are kept by term before they become a segment: sorting arrays of a
dozen words takes longer.
"""
_FEW_ROWS = 8
"""Records at a time up to which that is done."""


K1 = 0.9
_LONGEST = 4.0
"""Times the average length from which a text counts as no longer: a rare word in a long note is
still worth finding.
"""
_FEW = 64
"""One candidate for this many slots from which counts are spread over all slots."""


@dataclass(frozen=True, slots=True)
class PostingSegment:
    """Postings sorted by term, then slot; ``starts[i]:starts[i+1]`` belong to ``terms[i]``.

    ``counts``: whole numbers, as bytes in a file where these hold them.
    """

    terms: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32 | np.uint8]

    @property
    def size(self) -> int:
        """Bytes of memory that the arrays take."""
        return self.terms.nbytes + self.starts.nbytes + self.slots.nbytes + self.counts.nbytes

    def get(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        # A number of the array's own type: any other would widen the whole array first.
        place = int(self.terms.searchsorted(np.uint32(term)))
        if place == len(self.terms) or self.terms[place] != term:
            return _NOTHING
        start = self.starts[place]
        end = self.starts[place + 1]
        return self.slots[start:end], self.counts[start:end].astype(np.float32, copy=False)


class InvertedIndex:
    """Term -> slots and counts; append-only, readers mask dead slots."""

    def __init__(self, segments: Sequence[PostingSegment] = ()) -> None:
        self._segments = [*segments]
        self._latest: dict[int, list[tuple[int, int]]] = {}
        self._waiting = 0

    def merge(self) -> PostingSegment | None:
        """Merge all segments into one; None: there is none."""
        self._settle()
        while len(self._segments) > 1:
            self._segments[-2:] = [_merge(*self._segments[-2:])]
        return self._segments[0] if self._segments else None

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def add(self, first: int, blobs: Sequence[bytes]) -> None:
        """Append lexemes (uint32 term ids) of the slots from ``first`` on."""
        if len(blobs) <= _FEW_ROWS:
            for slot, blob in enumerate(blobs, first):
                for term, count in Counter(np.frombuffer(blob, np.uint32).tolist()).items():
                    self._latest.setdefault(term, []).append((slot, count))
                    self._waiting += 1
            if self._waiting > _LATEST:
                self._settle()
            return
        self._settle()
        lengths = np.fromiter((len(blob) // 4 for blob in blobs), np.int64, len(blobs))
        terms = np.frombuffer(b"".join(blobs), np.uint32)
        if len(terms):
            slots = np.repeat(np.arange(first, first + len(blobs), dtype=np.uint64), lengths)
            keys, counts = np.unique(
                terms.astype(np.uint64) << np.uint64(32) | slots, return_counts=True
            )
            self._append(_make_segment(keys, counts.astype(np.float32)))

    def get(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Slots that hold a term, each once, and its counts there."""
        pairs = [*map(methodcaller("get", term), self._segments)]
        if term in self._latest:
            slots, counts = zip(*self._latest[term], strict=True)
            pairs.append((np.array(slots, np.int32), np.array(counts, np.float32)))
        found = [pair for pair in pairs if len(pair[0])]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        return np.concatenate([slots for slots, _ in found]), np.concatenate(
            [counts for _, counts in found]
        )

    def holds(self, term: int) -> bool:
        """True where some slot holds a term."""
        return term in self._latest or any(len(segment.get(term)[0]) for segment in self._segments)

    def _settle(self) -> None:
        """Make a segment of what is kept by term."""
        if self._latest:
            entries = sorted(
                (term << 32 | slot, count)
                for term, some in self._latest.items()
                for slot, count in some
            )
            keys, counts = zip(*entries, strict=True)
            self._latest = {}
            self._waiting = 0
            self._append(_make_segment(np.array(keys, np.uint64), np.array(counts, np.float32)))

    def _append(self, segment: PostingSegment) -> None:
        # Segments of similar size are merged: about log2(n) remain.
        while self._segments and len(self._segments[-1].slots) < 2 * len(segment.slots):
            segment = _merge(self._segments.pop(), segment)
        self._segments.append(segment)


def _make_segment(keys: npt.NDArray[np.uint64], counts: npt.NDArray[np.float32]) -> PostingSegment:
    terms = (keys >> np.uint64(32)).astype(np.uint32)
    heads = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
    starts = np.concatenate([heads, [len(terms)]]).astype(np.int64)
    return PostingSegment(
        terms[heads], starts, (keys & np.uint64(0xFFFFFFFF)).astype(np.int32), counts
    )


def _merge(one: PostingSegment, other: PostingSegment) -> PostingSegment:
    keys = np.concatenate([_keys(one), _keys(other)])
    order = np.argsort(keys, kind="stable")
    return _make_segment(keys[order], np.concatenate([one.counts, other.counts])[order])


def _keys(segment: PostingSegment) -> npt.NDArray[np.uint64]:
    terms = np.repeat(segment.terms.astype(np.uint64), np.diff(segment.starts))
    return terms << np.uint64(32) | segment.slots.astype(np.uint64)


@dataclass(frozen=True, slots=True)
class QueryTermPostings:
    """Query term with its slots in view, in order, counts and weight."""

    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    worth: float

    def find_counts(
        self, groups: Sequence[npt.NDArray[np.int64]], room: npt.NDArray[np.float32]
    ) -> list[npt.NDArray[np.float32]]:
        """Counts in groups of slots, -1 for none.

        ``room``: zeros for every slot and one, to spread them out; empty where few are looked for,
        and found in order.
        """
        if len(room):
            room[self.slots] = self.counts
            found = [room[slots] for slots in groups]
            room[self.slots] = 0
            return found
        places = [
            np.minimum(np.searchsorted(self.slots, slots.astype(np.int32)), len(self.slots) - 1)
            for slots in groups
        ]
        return [
            np.where(self.slots[at] == slots, self.counts[at], np.float32(0))
            for at, slots in zip(places, groups, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Bm25Scores:
    """BM25 scores: ``bm`` by slot; those of windows and sessions on demand.

    ``by_session``: counts of each term by session.
    """

    bm: npt.NDArray[np.float32]
    terms: tuple[QueryTermPostings, ...]
    most: float
    average: float
    b: float
    by_session: tuple[npt.NDArray[Any], ...] = ()

    def count_sessions(self, columns: IndexColumns, view: VisibleIndexView) -> Bm25Scores:
        """Count each term by session, for the scores of these."""
        session = columns["session"]
        most = len(view.session_terms)
        return replace(
            self,
            by_session=tuple(
                np.bincount(session[term.slots], weights=term.counts, minlength=most)
                for term in self.terms
            ),
        )

    def score_sessions(
        self, view: VisibleIndexView, some: CandidateColumns
    ) -> npt.NDArray[np.float32]:
        """BM25 of each candidate's whole session, after ``count_sessions``."""
        score = np.zeros(len(some.slots), np.float32)
        count = len(view.session_terms)
        if not self.terms or not len(some.slots):
            return score
        # Of every session, or of the candidates' alone: whichever are fewer.
        inside = slice(None) if len(some.slots) > count else some.sessions
        scale = (
            K1 * (1 - 0.75 + 0.75 * view.session_terms[inside] / max(view.session_length, 1e-9)) * 4
        )
        score = np.zeros(len(scale), np.float32)
        most = 0.0
        for total in self.by_session:
            frequency = int(np.count_nonzero(total))
            worth = math.log(1 + (view.sessions - frequency + 0.5) / (frequency + 0.5))
            most += worth
            here = total[inside].astype(np.float32)
            score += worth * here / (here + scale)
        score /= np.float32(max(most, 1e-9))
        return score[some.sessions] if len(some.slots) > count else score

    def score_windows(self, size: int, some: CandidateColumns) -> npt.NDArray[np.float32]:
        """BM25 of each candidate with the two turns before it.

        ``size``: number of all slots.
        """
        score = np.zeros(len(some.slots), np.float32)
        if not self.terms or not len(some.slots):
            return score
        counts = np.zeros(size + 1 if len(some.slots) * _FEW > size else 0, np.float32)
        rows = self._find_touched(some, counts)
        lengths = some.length[rows]
        groups = (some.slots[rows], some.before[rows], some.before2[rows])
        scale = K1 * (1 - self.b + self.b * lengths / max(self.average * sum(WINDOW), 1e-9))
        found = np.zeros(len(lengths), np.float32)
        for term in self.terms:
            own, before, before2 = term.find_counts(groups, counts)
            count = WINDOW[0] * own + WINDOW[1] * before + WINDOW[2] * before2
            found += term.worth * count / (count + scale)
        score[rows] = found / np.float32(self.most)
        return score

    def _find_touched(
        self, some: CandidateColumns, room: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.int64] | slice:
        """Places of candidates whose windows hold some term.

        All of them where few are looked for.

        ``room``: zeros as ``find_counts`` takes them.
        """
        if not len(room):
            return slice(None)
        held = np.zeros(len(room), np.bool_)
        for term in self.terms:
            held[term.slots] = True
        return np.flatnonzero(held[some.slots] | held[some.before] | held[some.before2])


def score_terms(
    columns: IndexColumns,
    postings: InvertedIndex,
    view: VisibleIndexView,
    terms: Sequence[tuple[int, float]],
    unknown: float,
) -> Bm25Scores:
    """Score every slot in view.

    ``unknown``: summed weight of unknown words.
    """
    bm = np.zeros(columns.size, np.float32)
    if not view.total or not (terms or unknown):
        return Bm25Scores(bm=bm, terms=(), most=1.0, average=1.0, b=0.0)
    total = view.total
    found = []
    most = 0.0
    rare = math.log(1 + (total + 0.5) / 0.5)
    for number, weight in terms:
        slots, counts, damped, idf, gains = _find_visible(columns, postings, view, number)
        worth = weight * idf
        most += worth
        if len(slots):
            found.append(QueryTermPostings(slots, counts, worth))
            bm[slots] += gains if weight == 1 else worth * counts / damped
    most += unknown * rare
    most = max(most, 1e-9)
    bm /= np.float32(most)
    return Bm25Scores(bm=bm, terms=tuple(found), most=most, average=view.average, b=view.b)


def find_holding(
    columns: IndexColumns,
    postings: InvertedIndex,
    view: VisibleIndexView,
    groups: Sequence[Sequence[int]],
) -> npt.NDArray[np.int64]:
    """Find the slots in view that hold all terms of some group.

    A slot that holds those of several comes several times.
    """
    found = [np.zeros(0, np.int32)]
    for first, *others in groups:
        slots = _find_visible(columns, postings, view, first).slots
        for term in others:
            slots = slots[np.isin(slots, _find_visible(columns, postings, view, term).slots)]
        found.append(slots)
    return np.concatenate(found).astype(np.int64)


def _find_visible(
    columns: IndexColumns, postings: InvertedIndex, view: VisibleIndexView, term: int
) -> TermPostings:
    """Find a term's slots in view; rare terms are cached."""
    known = view.postings.by_term.get(term)
    if known is None:
        slots, counts = postings.get(term)
        if view.total < len(view.mask):
            inside = view.mask[slots]
            if not inside.all():
                slots = slots[inside]
                counts = counts[inside]
        # In place: postings of common words are long, and each array more costs as much as what is
        # computed.
        damped = columns["length"][slots]
        damped /= max(view.average, 1e-9)
        np.minimum(damped, _LONGEST, out=damped)
        damped *= view.b
        damped += 1 - view.b
        damped *= K1
        damped += counts
        idf = math.log(1 + (view.total - len(slots) + 0.5) / (len(slots) + 0.5))
        gains = idf * counts
        gains /= damped
        known = TermPostings(slots=slots, counts=counts, damped=damped, idf=idf, gains=gains)
        view.postings.add(term, known)
    return known
