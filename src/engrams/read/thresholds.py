"""Score floors of the sources, and the gap that ends a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engrams.ports import EmbedderCard, Pool
from engrams.settings import FloorSettings, ReadSettings
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.ports.search import Flags, Floats

_SHARED, _OF_RECORD = 2, 0.4
EDGE = 1e-6
"""Tolerance: cosines are float32, and floors are inclusive."""


def dense_floor(floors: FloorSettings, card: EmbedderCard) -> float:
    """Cosine floor: the setting for this model, else the card's."""
    if not floors.dense or not floors.model or floors.model.casefold() in card.id.casefold():
        return floors.dense
    return card.floors.get("related", 0.0)


def passes_floors(pool: Pool, settings: ReadSettings, cosine: float, meaning: bool) -> Flags:
    """Mask of candidates that reach the floor of a source in use.

    ``cosine``: the dense floor. ``meaning``: the query has a vector. BM25 counts where it has a weight, or where the query or the
    memory has no vector.
    """
    weights, floors = settings.weights, settings.min_scores
    if not (cosine or floors.lexical or floors.recall):
        return np.ones(len(pool.ids), np.bool_)
    near = (pool.cos >= cosine - EDGE) & pool.embedded & bool(meaning and weights.dense)
    counted = np.full(len(pool.ids), bool(weights.bm25 or not meaning)) | ~pool.embedded
    worded = (pool.bm > 0) & (pool.bm >= floors.lexical - EDGE) & counted
    return np.asarray(near | worded, np.bool_)


def shares_enough_words(query: Sequence[str], text: str, share: float) -> bool:
    """Test for enough common words (004).

    Enough is ``share`` of the query's, or two that are 0.4 of the text's.
    """
    asked, own = set(query), set(terms(text))
    common = len(asked & own)
    return common > 0 and (common >= share * len(asked) or (common >= _SHARED and common >= _OF_RECORD * len(own)))


def cut_at_gap(scores: Sequence[float], top: float, drop: float) -> int:
    """Count the scores, best first, before the first gap; at least one.

    The gap is where a score falls below ``top`` of the best, or below ``drop`` of the one before it (003: 0.90, 0.95).
    """
    for place in range(1, len(scores)):
        if scores[place] < top * scores[0] - EDGE or scores[place] < drop * scores[place - 1] - EDGE:
            return place
    return len(scores)


def saturate_bm25(r: Floats) -> Floats:
    """Map BM25 ``r`` to 0.3..0.99 (001).

    ``0.3 + 0.69 * |r| / (1 + |r|)``
    """
    size = np.abs(r)
    return np.asarray(0.3 + 0.69 * size / (1.0 + size), np.float32)
