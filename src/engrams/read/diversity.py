"""Removal of repeated hits, and diversity among the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Hit, Record, Status
from engrams.frozen_data import dataclass
from engrams.read.relevance.text_traits import DESCRIBED_CHARACTERS, describe_memory
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache

_MIN_LENGTH_RATIO = 0.8
_PERIODS = 5
"""Parts of the time over which hits are spread."""
_LONGEST_CACHED = 20_000
"""Characters of the longest text whose words are cached."""
_CROWDING = 0.1
"""Share of its score that a hit loses for each one that its part of the time is ahead."""

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats


@dataclass(frozen=True, slots=True)
class _ComparedHit:
    """A hit that is no repeat, with the words of its text."""

    hit: Hit
    words: frozenset[str]

    @property
    def record(self) -> Record:
        return self.hit.record


def find_repeats(hits: Sequence[Hit], threshold: float, wanted: int) -> dict[str, str]:
    """Map ids of repeats to the better hit with the same content.

    Repeats have equal text, or word sets of Jaccard >= ``threshold`` and no word that decides: what
    is opposite is shown beside each other. What was said again after it was over, or may have been,
    is no repeat: the better hit is one. Stops after ``wanted`` different hits.
    """
    positions_by_text: dict[str, int] = {}
    compared: list[_ComparedHit] = []
    repeats: dict[str, str] = {}
    for hit in hits:
        if len(compared) >= wanted:
            break
        record = hit.record
        words = _words(record.search_text)
        position = positions_by_text.get(record.text)
        if position is None:
            position = _find_repeated(record, words, compared, threshold)
        if position is None:
            positions_by_text[record.text] = len(compared)
            compared.append(_ComparedHit(hit, words))
        elif _holds_again(hit, compared[position].hit):
            repeats[compared[position].record.id] = record.id
            positions_by_text[record.text] = position
            compared[position] = _ComparedHit(hit, words)
        else:
            repeats[record.id] = compared[position].record.id
    return repeats


def _holds_again(hit: Hit, better: Hit) -> bool:
    """True for a hit without doubt that was said after what ends, or may end, a better one."""
    mark = better.outdated
    is_doubted = mark is not None and mark.is_told and hit.record.recorded_at > mark.said_at
    return is_doubted and hit.outdated is None and hit.status is Status.ACTIVE


def _find_repeated(
    record: Record, words: frozenset[str], compared: Sequence[_ComparedHit], threshold: float
) -> int | None:
    """Find the position of the better hit that a record repeats; None: it repeats none."""
    count = len(words)
    for position, better in enumerate(compared):
        size = len(better.words)
        # Two sets share at most the smaller one.
        if threshold * size <= count and threshold * count <= size:
            shared = len(words & better.words)
            is_same = shared >= threshold * max(count + size - shared, 1)
            if is_same and _says_the_same(record, better.record):
                return position
    return None


def _says_the_same(record: Record, better: Record) -> bool:
    """Compare lengths and details of texts with about the same words."""
    lengths = (len(record.text), len(better.text))
    if min(lengths) < _MIN_LENGTH_RATIO * max(lengths):
        return False
    return not differ_in_detail(record.search_text, better.search_text)


def select_mmr(
    scores: Sequence[float], vectors: Floats, relevance_weight: float, limit: int
) -> list[int]:
    """Select positions by maximal marginal relevance (Carbonell and Goldstein 1998).

    The first is the best; each next maximises ``weight * score - (1 - weight) * highest cosine to
    those chosen``. ``vectors``: unit rows [scores, dimension]; a row of zeros (no vector) is similar
    to nothing. Weight 1 is plain relevance; ``limit`` <= 0 chooses none.
    """
    if limit <= 0 or not len(scores):
        return []
    relevance = np.asarray(scores, np.float32)
    candidates = list(range(len(scores)))
    chosen = [int(np.argmax(relevance))]
    candidates.remove(chosen[0])
    nearest = np.vecdot(vectors, vectors[chosen[0]])
    while candidates and len(chosen) < limit:
        similarity = np.maximum(nearest[candidates], 0)
        value = relevance_weight * relevance[candidates] - (1 - relevance_weight) * similarity
        best = candidates[int(np.argmax(value))]
        chosen.append(best)
        candidates.remove(best)
        nearest = np.maximum(nearest, np.vecdot(vectors, vectors[best]))
    return chosen


def spread_over_time(hits: Sequence[Hit]) -> list[Hit]:
    """Order hits so that no part of their time crowds out others.

    The time that they were said in has five parts. Each next hit is the best by score, less a tenth
    for every hit that its part is ahead of the part with the fewest, of those that have any left.
    Scores stay as they are.
    """
    moments = [(hit.record.valid_from or hit.record.recorded_at).timestamp() for hit in hits]
    first = min(moments, default=0.0)
    last = max(moments, default=0.0)
    if first == last:
        return list(hits)
    length = (last - first) / _PERIODS
    waiting: dict[int, deque[Hit]] = {}
    for hit, moment in zip(hits, moments, strict=True):
        period = min(int((moment - first) / length), _PERIODS - 1)
        waiting.setdefault(period, deque()).append(hit)
    counts = dict.fromkeys(waiting, 0)
    order: list[Hit] = []

    def crowded_score(period: int) -> float:
        fewest = min(counts[waiting_period] for waiting_period in waiting)
        return waiting[period][0].score * (1 - _CROWDING * (counts[period] - fewest))

    while waiting:
        best = max(waiting, key=crowded_score)
        order.append(waiting[best].popleft())
        counts[best] += 1
        if not waiting[best]:
            del waiting[best]
    return order


def _words(text: str) -> frozenset[str]:
    """Split a text into its words, which the next search needs again."""
    if len(text) <= DESCRIBED_CHARACTERS:
        return describe_memory(text).text.words
    return _read_long(text) if len(text) <= _LONGEST_CACHED else frozenset(terms(text))


@text_cache(256)
def _read_long(text: str) -> frozenset[str]:
    """Split a long text into its words, cached."""
    return frozenset(terms(text))
