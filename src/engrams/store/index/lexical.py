"""BM25 of records, of windows of turns and of whole sessions, with the statistics of what is in reach.

Each is divided by the most that the query could score, so that a score is absolute: 1 would be a text in which every
word of the query, known or not, is as frequent as helps. (Robertson and Zaragoza 2009; k1 and b as measured on chats,
see docs/concepts/recall.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engrams.store.index.columns import Columns
from engrams.store.index.gather import WINDOW, Told
from engrams.store.index.postings import Postings
from engrams.store.index.view import View

K1 = 0.9


@dataclass(frozen=True, slots=True)
class Term:
    """A query term: where it occurs in reach, how often, and what it is worth."""

    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    worth: float


@dataclass(frozen=True, slots=True)
class Lexical:
    """``bm`` is by slot, ``session`` by session number."""

    bm: npt.NDArray[np.float32]
    session: npt.NDArray[np.float32]
    terms: tuple[Term, ...]
    most: float
    average: float
    b: float

    def window(self, size: int, some: Told) -> npt.NDArray[np.float32]:
        """BM25 of each candidate's text together with the two turns before it, at less weight; ``size``: slots there are."""
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


def lexical(columns: Columns, postings: Postings, seen: View, terms: Sequence[tuple[int, float]], unknown: float) -> Lexical:
    """Score every slot in view. ``unknown``: summed weight of query words that no record holds."""
    bm = np.zeros(columns.size, np.float32)
    if not seen.total or not (terms or unknown):
        return Lexical(bm, np.zeros(0, np.float32), (), 1.0, 1.0, 0.0)
    lengths, total = columns["length"], seen.total
    found, most, rare = [], 0.0, math.log(1 + (total + 0.5) / 0.5)
    for number, weight in terms:
        slots, counts = postings.get(number)
        inside = seen.mask[slots]
        if not inside.all():
            slots, counts = slots[inside], counts[inside]
        worth = weight * math.log(1 + (total - len(slots) + 0.5) / (len(slots) + 0.5))
        most += worth
        if len(slots):
            found.append(Term(slots, counts, worth))
            scale = K1 * (1 - seen.b + seen.b * lengths[slots] / max(seen.average, 1e-9))
            bm[slots] += worth * counts / (counts + scale)
    most += unknown * rare
    most = max(most, 1e-9)
    bm /= np.float32(most)
    return Lexical(bm, _sessions(columns, seen, found), tuple(found), most, seen.average, seen.b)


def _sessions(columns: Columns, seen: View, terms: Sequence[Term]) -> npt.NDArray[np.float32]:
    """BM25 of each session as one text."""
    count = len(seen.spoken)
    score = np.zeros(count, np.float32)
    if not terms:
        return score
    session = columns["session"]
    scale = K1 * (1 - 0.75 + 0.75 * seen.spoken / max(seen.talk, 1e-9)) * 4
    most = 0.0
    for term in terms:
        total = np.bincount(session[term.slots], weights=term.counts, minlength=count).astype(np.float32)
        frequency = int((total > 0).sum())
        worth = math.log(1 + (seen.talks - frequency + 0.5) / (frequency + 0.5))
        most += worth
        score += worth * total / (total + scale)
    return score / np.float32(max(most, 1e-9))
