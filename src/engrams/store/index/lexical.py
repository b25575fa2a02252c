"""BM25 of records, windows of turns and whole sessions.

Statistics are those of the view. Each score is divided by the most that the query could score, so that it is absolute: 1 is a text
in which every word of the query, known or not, is as frequent as counts. (Robertson and Zaragoza 2009; k1 and b as measured on
chats, see docs/concepts/recall.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engrams.store.index.columns import IndexColumns
from engrams.store.index.gather import WINDOW, GatheredColumns
from engrams.store.index.postings import Postings
from engrams.store.index.view import IndexView

K1 = 0.9


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """Query term with its slots in view, counts and weight."""

    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    worth: float


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 scores: ``bm`` by slot, ``session`` by session number."""

    bm: npt.NDArray[np.float32]
    session: npt.NDArray[np.float32]
    terms: tuple[QueryTerm, ...]
    most: float
    average: float
    b: float

    def score_windows(self, size: int, some: GatheredColumns) -> npt.NDArray[np.float32]:
        """BM25 of each candidate with the two turns before it.

        ``size``: number of all slots.
        """
        score = np.zeros(len(some.slots), np.float32)
        if not self.terms or not len(some.slots):
            return score
        scale = K1 * (1 - self.b + self.b * some.length / max(self.average * sum(WINDOW), 1e-9))
        counts = np.zeros(size + 1, np.float32)
        for term in self.terms:
            counts[term.slots] = term.counts
            count = WINDOW[0] * counts[some.slots] + WINDOW[1] * counts[some.before] + WINDOW[2] * counts[some.before2]
            score += term.worth * count / (count + scale)
            counts[term.slots] = 0
        return score / np.float32(self.most)


def score_terms(
    columns: IndexColumns, postings: Postings, view: IndexView, terms: Sequence[tuple[int, float]], unknown: float
) -> LexicalScores:
    """Score every slot in view; ``unknown``: summed weight of unknown words."""
    bm = np.zeros(columns.size, np.float32)
    if not view.total or not (terms or unknown):
        return LexicalScores(bm, np.zeros(0, np.float32), (), 1.0, 1.0, 0.0)
    lengths, total = columns["length"], view.total
    found, most, rare = [], 0.0, math.log(1 + (total + 0.5) / 0.5)
    for number, weight in terms:
        slots, counts = postings.get(number)
        inside = view.mask[slots]
        if not inside.all():
            slots, counts = slots[inside], counts[inside]
        worth = weight * math.log(1 + (total - len(slots) + 0.5) / (len(slots) + 0.5))
        most += worth
        if len(slots):
            found.append(QueryTerm(slots, counts, worth))
            scale = K1 * (1 - view.b + view.b * lengths[slots] / max(view.average, 1e-9))
            bm[slots] += worth * counts / (counts + scale)
    most += unknown * rare
    most = max(most, 1e-9)
    bm /= np.float32(most)
    return LexicalScores(bm, _score_sessions(columns, view, found), tuple(found), most, view.average, view.b)


def _score_sessions(columns: IndexColumns, view: IndexView, terms: Sequence[QueryTerm]) -> npt.NDArray[np.float32]:
    """BM25 of each session as one text."""
    count = len(view.session_terms)
    score = np.zeros(count, np.float32)
    if not terms:
        return score
    session = columns["session"]
    scale = K1 * (1 - 0.75 + 0.75 * view.session_terms / max(view.session_length, 1e-9)) * 4
    most = 0.0
    for term in terms:
        total = np.bincount(session[term.slots], weights=term.counts, minlength=count).astype(np.float32)
        frequency = int((total > 0).sum())
        worth = math.log(1 + (view.sessions - frequency + 0.5) / (frequency + 0.5))
        most += worth
        score += worth * total / (total + scale)
    return score / np.float32(max(most, 1e-9))
