"""Nearness of memory to a query, and its floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Scope
from engrams.ports import CALIBRATION, CandidatePool, EmbedderCard, OwnerStateStore
from engrams.read.query_preparation import PreparedQuery
from engrams.read.score_fusion import fill_column
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Flags

UNKNOWN_MODEL = 0.1
"""Floor for models whose card has none: low, so that nothing known is passed over."""

MOST_FLOOR = 0.4
"""Highest floor that a calibration chooses; from here on nothing is looked up."""

_WORDS_ALONE = 2.0
"""Factor on the words of a memory without a vector: they rarely reach half of the best score."""

_ANSWERING = 0.25
"""Nearness of a fact with the asked predicate about the asked person."""

_NAMED = 0.08
"""Nearness of what is asked about a person who is known here."""


def measure_nearness(pool: CandidatePool, passes: Flags, prepared: PreparedQuery) -> float:
    """Measure how near the nearest memory is to a query, 0..1.

    The mean of its cosine and of its BM25 as a share of the most that the query could score. One
    memory must have both: words in one and meaning in another say little. Names of speakers and
    times in the query are no part of that most: they are cues.
    """
    if not passes.any():
        return 0.0
    words = np.minimum(pool.bm / _content_share(prepared), 1)
    near = _WORDS_ALONE * words
    if prepared.seek.vector is not None:
        near = np.where(pool.embedded, (np.maximum(pool.cos, 0) + words) / 2, near)
    if prepared.answering:
        near = near + _ANSWERING * fill_column(pool, prepared.answering)
    named = _NAMED if prepared.cues.people else 0.0
    return min(float(near[passes].max()) + named, 1.0)


def _content_share(prepared: PreparedQuery) -> float:
    cues = prepared.cues
    spent = set(terms(" ".join((*cues.people, *(span.text for span in cues.spans)))))
    asked = [term for term, _ in prepared.seek.terms]
    return max(sum(term not in spent for term in asked), 1) / max(len(asked), 1)


def is_near(
    nearness: float,
    setting: float | None,
    card: EmbedderCard,
    states: OwnerStateStore | None,
    owner: Scope,
) -> bool:
    """Test whether memory is near enough to a query to answer it.

    It is the setting, else the owner's calibrated one for this model, else the card's.
    """
    if setting is not None:
        return nearness >= setting
    if nearness >= MOST_FLOOR:
        return True
    known = {} if states is None else states.load_state(owner, CALIBRATION).data
    return nearness >= (known["floor"] if known.get("model") == card.id else default_floor(card))


def default_floor(card: EmbedderCard) -> float:
    """Floor of a model where its owner has calibrated none."""
    return card.floors.get("near", UNKNOWN_MODEL)
