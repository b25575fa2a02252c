"""Floors of a search: what is near enough to be found, to be shown, or to count as an answer.

``passes_floors`` masks candidates by the scores of single sources, ``shares_enough_words`` judges a
text, ``count_before_gap`` cuts a ranking, ``measure_nearness`` and ``is_near`` tell whether memory
has an answer at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Scope
from engrams.ports import CALIBRATION, CandidatePool, EmbedderCard
from engrams.read.dependencies import ReadDeps
from engrams.read.query_preparation import PreparedQuery
from engrams.read.score_fusion import fill_column
from engrams.settings import ReadSettings
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Flags, Floats

EDGE = 1e-6
"""Tolerance: cosines are float32, and floors are inclusive."""

UNKNOWN_MODEL = 0.1
"""Floor for models whose card has none: low, so that nothing known is passed over."""

MOST_FLOOR = 0.4
"""Highest floor that a calibration chooses; from here on nothing is looked up."""

_ENOUGH_WORDS = 2
_TEXT_SHARE = 0.4
"""So many common words are enough if they are this share of the text's."""

_WORDS_ALONE = 2.0
"""Factor on the words of a memory without a vector: they rarely reach half of the best score."""

_ANSWERING = 0.25
"""Nearness of a fact with the asked predicate about the asked person."""

_NAMED = 0.08
"""Nearness of what is asked about a person who is known here."""


def passes_floors(pool: CandidatePool, settings: ReadSettings, has_vector: bool) -> Flags:
    """Mask the candidates that reach the floor of a source in use.

    ``has_vector``: the query has one. BM25 counts where it has a weight, or where the query or the
    memory has no vector.
    """
    weights = settings.weights
    floors = settings.min_scores
    if not (floors.dense or floors.lexical or floors.recall):
        return np.ones(len(pool.ids), np.bool_)
    is_near = (pool.cos >= floors.dense - EDGE) & pool.embedded & bool(has_vector and weights.dense)
    words_count = np.full(len(pool.ids), bool(weights.bm25 or not has_vector)) | ~pool.embedded
    has_words = (pool.bm > 0) & (pool.bm >= floors.lexical - EDGE) & words_count
    return np.asarray(is_near | has_words, np.bool_)


def shares_enough_words(query_terms: Sequence[str], text: str, share: float) -> bool:
    """Test for enough common words: ``share`` of the query's, or two that are 0.4 of the text's."""
    query_words = set(query_terms)
    text_words = set(terms(text))
    common = len(query_words & text_words)
    if not common:
        return False
    return common >= share * len(query_words) or (
        common >= _ENOUGH_WORDS and common >= _TEXT_SHARE * len(text_words)
    )


def count_before_gap(scores: Sequence[float], top_share: float, step_share: float) -> int:
    """Count the scores, best first, before the first gap; at least one.

    The gap is where a score falls below ``top_share`` of the best, or below ``step_share`` of the
    one before it (0.90, 0.95).
    """
    for position in range(1, len(scores)):
        score = scores[position]
        if score < top_share * scores[0] - EDGE:
            return position
        if score < step_share * scores[position - 1] - EDGE:
            return position
    return len(scores)


def measure_nearness(pool: CandidatePool, passes: Flags, prepared: PreparedQuery) -> float:
    """Measure how near the nearest memory is to a query, 0..1."""
    if not passes.any():
        return 0.0
    near = measure_nearness_of_each(pool, prepared)
    person_bonus = _NAMED if prepared.cues.people else 0.0
    return min(float(near[passes].max()) + person_bonus, 1.0)


def measure_nearness_of_each(pool: CandidatePool, prepared: PreparedQuery) -> Floats:
    """Measure how near each candidate is to a query, mostly 0..1.

    The mean of its cosine and of its BM25 as a share of the most that the query could score. One
    memory must have both: words in one and meaning in another say little. Names of speakers and
    times in the query are no part of that most: they are cues.
    """
    words = np.minimum(pool.bm / _content_share(prepared), 1)
    near = _WORDS_ALONE * words
    if prepared.query.vector is not None:
        near = np.where(pool.embedded, (np.maximum(pool.cos, 0) + words) / 2, near)
    if prepared.answering:
        near = near + _ANSWERING * fill_column(pool, prepared.answering)
    return np.asarray(near, np.float32)


def _content_share(prepared: PreparedQuery) -> float:
    """Share of the query's terms that are no cue; that of one term at least."""
    cues = prepared.cues
    cue_terms = set(terms(" ".join((*cues.people, *(span.text for span in cues.spans)))))
    query_terms = prepared.terms
    return max(sum(term not in cue_terms for term in query_terms), 1) / max(len(query_terms), 1)


def is_near(nearness: float, deps: ReadDeps, owner: Scope) -> bool:
    """Test whether memory is near enough to a query to answer it.

    The floor is that of the settings, else the owner's calibrated one for this model, else the
    card's.
    """
    if deps.settings.abstain is not None:
        return nearness >= deps.settings.abstain
    if nearness >= MOST_FLOOR:
        return True
    card = deps.embedder.card
    calibration = {} if deps.states is None else deps.states.load_state(owner, CALIBRATION).data
    if calibration.get("model") == card.id:
        return bool(nearness >= calibration["floor"])
    return nearness >= default_floor(card)


def default_floor(card: EmbedderCard) -> float:
    """Floor of a model where its owner has calibrated none."""
    return card.floors.get("near", UNKNOWN_MODEL)
