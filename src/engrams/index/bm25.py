"""BM25 of records, windows of turns and whole sessions.

For a term of document frequency ``df`` among ``n`` records, with ``tf`` occurrences in a record of
``length`` terms (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009)::

    idf   = ln(1 + (n - df + 0.5) / (df + 0.5))
    score = weight * idf * tf / (tf + K1 * (1 - b + b * length / average_length))

The factor ``K1 + 1`` of the numerator is left out, so that a term adds less than its ``weight *
idf``. Each score is divided by the sum of these, so that it is absolute: 1 is a text in which every
word of the query, known or not, is as frequent as counts.

Statistics are those of the view, not of the whole index. ``K1`` and ``b`` are measured on chats: see
docs/concepts/recall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.frozen_data import dataclass
from engrams.index.candidate_view import WINDOW, CandidateColumns, TermPostings, VisibleIndexView
from engrams.index.columns import IndexColumns
from engrams.index.postings import InvertedIndex
from engrams.index.slots import Floats, PostingSlots, Slots

K1 = 0.9
"""Saturation of term frequency."""
_SESSION_B = 0.75
_SESSION_K1_FACTOR = 4
"""Factor on ``K1`` for sessions, whose counts are sums over many turns."""
_LONGEST = 4.0
"""Times the average length from which a text counts as no longer: a rare word in a long note is
still worth finding.
"""
_FEW = 64
"""One candidate for this many slots from which counts are spread over all slots."""
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class QueryWords:
    """Words of a query, by the numbers that the index knows them by."""

    terms: Sequence[tuple[int, float]] = ()
    """Numbers of terms that some record of the owner holds, with their weights."""
    unknown_weight: float = 0.0
    """Summed weight of words that no record holds."""
    identifiers: Sequence[Sequence[int]] = ()
    """Numbers of the terms of each identifier."""


@dataclass(frozen=True, slots=True)
class QueryTermPostings:
    """Postings of one term of a query in view."""

    slots: PostingSlots
    """Slots that hold it [postings], ascending."""
    counts: Floats
    """Its counts there [postings]."""
    worth: float
    """Weight of the term times its idf."""

    def find_counts(self, groups: Sequence[Slots], scratch: Floats) -> list[Floats]:
        """Find the term's counts in groups of slots, where -1 is none.

        ``scratch``: zeros for every slot and one [slots + 1], to spread the counts out, and zeros
        again afterwards; empty where few are looked for, which are then found in order.
        """
        if len(scratch):
            scratch[self.slots] = self.counts
            counts = [scratch[slots] for slots in groups]
            scratch[self.slots] = 0
            return counts
        counts = []
        for slots in groups:
            positions = np.searchsorted(self.slots, slots.astype(np.int32))
            positions = np.minimum(positions, len(self.slots) - 1)
            is_found = self.slots[positions] == slots
            counts.append(np.where(is_found, self.counts[positions], np.float32(0)))
        return counts


@dataclass(frozen=True, slots=True)
class Bm25Scores:
    """BM25 of a query: of records at once, of windows and sessions on demand."""

    scores: Floats
    """BM25 of the record in each slot [slots], 0..1."""
    terms: tuple[QueryTermPostings, ...]
    """Terms of the query that something in view holds."""
    max_score: float
    """Sum of ``weight * idf`` of all words: the most that the query could score."""
    average: float
    """Mean number of terms of a record in view."""
    b: float
    """Length normalisation of the view."""
    session_counts: tuple[npt.NDArray[Any], ...] = ()
    """Counts of each term by session [sessions], after ``count_sessions``."""

    def count_sessions(self, columns: IndexColumns, view: VisibleIndexView) -> Bm25Scores:
        """Count each term by session, for the scores of these."""
        sessions = columns["session"]
        number = len(view.session_terms)
        return replace(
            self,
            session_counts=tuple(
                np.bincount(sessions[term.slots], weights=term.counts, minlength=number)
                for term in self.terms
            ),
        )

    def score_sessions(self, view: VisibleIndexView, candidates: CandidateColumns) -> Floats:
        """Score each candidate's whole session [candidates], after ``count_sessions``.

        A session is a document of its own here: its length is the sum of its records', and the
        document frequency of a term counts sessions.
        """
        scores = np.zeros(len(candidates.slots), np.float32)
        if not self.terms or not len(candidates.slots):
            return scores
        # Of every session, or of the candidates' alone: whichever are fewer.
        is_of_all = len(candidates.slots) > len(view.session_terms)
        sessions = slice(None) if is_of_all else candidates.sessions
        average = max(view.session_length, _TINY)
        length_norm = 1 - _SESSION_B + _SESSION_B * view.session_terms[sessions] / average
        damping = K1 * length_norm * _SESSION_K1_FACTOR
        scores = np.zeros(len(damping), np.float32)
        max_score = 0.0
        for session_counts in self.session_counts:
            idf = _idf(view.sessions, int(np.count_nonzero(session_counts)))
            max_score += idf
            counts = session_counts[sessions].astype(np.float32)
            scores += idf * counts / (counts + damping)
        scores /= np.float32(max(max_score, _TINY))
        return scores[candidates.sessions] if is_of_all else scores

    def score_windows(self, size: int, candidates: CandidateColumns) -> Floats:
        """Score each candidate with the two turns before it [candidates].

        Counts and lengths of the three turns are weighted by ``WINDOW``. ``size``: number of all
        slots.
        """
        scores = np.zeros(len(candidates.slots), np.float32)
        if not self.terms or not len(candidates.slots):
            return scores
        is_many = len(candidates.slots) * _FEW > size
        scratch = np.zeros(size + 1 if is_many else 0, np.float32)
        rows = self._find_touched(candidates, scratch)
        average = max(self.average * sum(WINDOW), _TINY)
        damping = K1 * (1 - self.b + self.b * candidates.length[rows] / average)
        groups = (candidates.slots[rows], candidates.before[rows], candidates.before2[rows])
        row_scores = np.zeros(len(damping), np.float32)
        for term in self.terms:
            counts, before, before2 = term.find_counts(groups, scratch)
            weighted = WINDOW[0] * counts + WINDOW[1] * before + WINDOW[2] * before2
            row_scores += term.worth * weighted / (weighted + damping)
        scores[rows] = row_scores / np.float32(self.max_score)
        return scores

    def _find_touched(self, candidates: CandidateColumns, scratch: Floats) -> Slots | slice:
        """Find the rows of candidates whose windows hold some term; all where few are looked for.

        ``scratch``: as ``find_counts`` takes it.
        """
        if not len(scratch):
            return slice(None)
        holds = np.zeros(len(scratch), np.bool_)
        for term in self.terms:
            holds[term.slots] = True
        return np.flatnonzero(
            holds[candidates.slots] | holds[candidates.before] | holds[candidates.before2]
        )


def score_terms(
    columns: IndexColumns, postings: InvertedIndex, view: VisibleIndexView, words: QueryWords
) -> Bm25Scores:
    """Score the record in every slot in view by the words of a query."""
    scores = np.zeros(columns.size, np.float32)
    if not view.total or not (words.terms or words.unknown_weight):
        return Bm25Scores(scores=scores, terms=(), max_score=1.0, average=1.0, b=0.0)
    query_terms = []
    max_score = 0.0
    for number, weight in words.terms:
        term = _find_visible(columns, postings, view, number)
        worth = weight * term.idf
        max_score += worth
        if len(term.slots):
            query_terms.append(QueryTermPostings(term.slots, term.counts, worth))
            scores[term.slots] += term.gains if weight == 1 else worth * term.counts / term.damped
    # A word that nobody ever said is as rare as can be.
    max_score = max(max_score + words.unknown_weight * _idf(view.total, 0), _TINY)
    scores /= np.float32(max_score)
    return Bm25Scores(
        scores=scores, terms=tuple(query_terms), max_score=max_score, average=view.average, b=view.b
    )


def find_holding(
    columns: IndexColumns,
    postings: InvertedIndex,
    view: VisibleIndexView,
    identifiers: Sequence[Sequence[int]],
) -> Slots:
    """Find the visible slots that hold all terms of at least one identifier.

    ``identifiers``: term numbers of each. A slot that holds several identifiers comes several times.
    """
    groups = [np.zeros(0, np.int32)]  # without identifiers, concatenate still needs an array
    for first, *further_terms in identifiers:
        slots = _find_visible(columns, postings, view, first).slots
        for term in further_terms:
            slots = slots[np.isin(slots, _find_visible(columns, postings, view, term).slots)]
        groups.append(slots)
    return np.concatenate(groups).astype(np.int64)


def _idf(total: int, document_frequency: int) -> float:
    """Inverse document frequency of a term, never negative."""
    return math.log(1 + (total - document_frequency + 0.5) / (document_frequency + 0.5))


def _find_visible(
    columns: IndexColumns, postings: InvertedIndex, view: VisibleIndexView, term: int
) -> TermPostings:
    """Find a term's postings in view, with their scores; rare terms are cached."""
    cached = view.postings.by_term.get(term)
    if cached is not None:
        return cached
    slots, counts = postings.get(term)
    if view.total < len(view.mask):
        is_visible = view.mask[slots]
        if not is_visible.all():
            slots = slots[is_visible]
            counts = counts[is_visible]
    # tf + K1 * (1 - b + b * length / average), in place: postings of common words are long, and
    # each array more costs as much as what is computed.
    damped = columns["length"][slots]
    damped /= max(view.average, _TINY)
    np.minimum(damped, _LONGEST, out=damped)
    damped *= view.b
    damped += 1 - view.b
    damped *= K1
    damped += counts
    idf = _idf(view.total, len(slots))
    gains = idf * counts
    gains /= damped
    visible = TermPostings(slots=slots, counts=counts, damped=damped, idf=idf, gains=gains)
    view.postings.add(term, visible)
    return visible
