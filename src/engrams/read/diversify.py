"""Removal of repeated hits, and diversity among the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Hit, Record
from engrams.text.name_order import is_reordered
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache

_MIN_LENGTH_RATIO = 0.8
_PARTS = 5
"""Parts of the time over which hits are spread."""
_CROWDING = 0.1
"""Share of its score that a hit loses for each one that its part of the time is ahead."""
_MAX_CACHED = 5_000
"""Characters of the longest text whose words are cached."""

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats


def find_repeats(hits: Sequence[Hit], threshold: float, wanted: int) -> dict[str, str]:
    """Map ids of repeats to the better hit with the same content.

    Repeats have equal text, or word sets of Jaccard >= ``threshold`` and the names and numbers of
    both in one order. Stops after ``wanted`` different hits.
    """
    texts: dict[str, str] = {}
    seen: list[tuple[int, Record, frozenset[str]]] = []
    out: dict[str, str] = {}
    for hit in hits:
        if len(seen) >= wanted:
            break
        record = hit.record
        words = _words(record.search_text)
        twin = texts.get(record.text) or _find_repeated(record, words, seen, threshold)
        if twin:
            out[record.id] = twin
        else:
            texts[record.text] = record.id
            seen.append((len(words), record, words))
    return out


def _find_repeated(
    record: Record,
    words: frozenset[str],
    seen: Sequence[tuple[int, Record, frozenset[str]]],
    threshold: float,
) -> str:
    """Find the better hit that a record repeats, else an empty id."""
    count = len(words)
    for size, other, its in seen:
        # Two sets share at most the smaller one.
        if threshold * size <= count and threshold * count <= size:
            shared = len(words & its)
            if shared >= threshold * max(count + size - shared, 1) and _is_same(record, other):
                return other.id
    return ""


def _is_same(one: Record, other: Record) -> bool:
    """Compare lengths and word order of texts with about the same words."""
    if min(len(one.text), len(other.text)) < _MIN_LENGTH_RATIO * max(
        len(one.text), len(other.text)
    ):
        return False
    return not is_reordered(one.search_text, other.search_text)


def select_mmr(scores: Sequence[float], vectors: Floats, lam: float, limit: int) -> list[int]:
    """Select places by maximal marginal relevance (Carbonell and Goldstein 1998).

    The first is the best; each next maximises ``lam * score - (1 - lam) * highest cosine to those
    chosen``. A row of zeros (no vector) is similar to nothing. ``lam`` 1 is plain relevance;
    ``limit`` <= 0 chooses none.
    """
    if limit <= 0 or not len(scores):
        return []
    relevance = np.asarray(scores, np.float32)
    left = list(range(len(scores)))
    chosen = [int(np.argmax(relevance))]
    left.remove(chosen[0])
    nearest = np.vecdot(vectors, vectors[chosen[0]])
    while left and len(chosen) < limit:
        value = lam * relevance[left] - (1 - lam) * np.maximum(nearest[left], 0)
        best = left[int(np.argmax(value))]
        chosen.append(best)
        left.remove(best)
        nearest = np.maximum(nearest, np.vecdot(vectors, vectors[best]))
    return chosen


def spread_over_time(hits: Sequence[Hit]) -> list[Hit]:
    """Order hits so that no part of their time crowds out others.

    The time that they were said in has five parts. Each next hit is the best by score, less a tenth
    for every hit that its part is ahead of the part with the fewest, of those that have any left.
    Scores stay as they are.
    """
    said = [(hit.record.valid_from or hit.record.recorded_at).timestamp() for hit in hits]
    first = min(said, default=0.0)
    last = max(said, default=0.0)
    if first == last:
        return list(hits)
    length = (last - first) / _PARTS
    parts: dict[int, deque[Hit]] = {}
    for hit, moment in zip(hits, said, strict=True):
        parts.setdefault(min(int((moment - first) / length), _PARTS - 1), deque()).append(hit)
    taken = dict.fromkeys(parts, 0)
    order = list[Hit]()
    while parts:
        least = min(taken[part] for part in parts)
        best = max(
            parts, key=lambda part: parts[part][0].score * (1 - _CROWDING * (taken[part] - least))
        )
        order.append(parts[best].popleft())
        taken[best] += 1
        if not parts[best]:
            del parts[best]
    return order


def _words(text: str) -> frozenset[str]:
    return _cached_words(text) if len(text) <= _MAX_CACHED else frozenset(terms(text))


@text_cache(2048)
def _cached_words(text: str) -> frozenset[str]:
    """Split a text into its words, cached for the next query."""
    return frozenset(terms(text))
