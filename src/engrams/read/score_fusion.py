"""Fusion of what the sources say about each candidate into one absolute score.

``score_pool`` is the way in. Its features are columns of the pool, each 0..1; the settings give
each a weight, and the score is their weighted sum, or a sum of reciprocal ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from engrams.frozen_data import dataclass
from engrams.ports import CandidatePool
from engrams.read.cues import QueryCues, score_dates, score_speakers
from engrams.read.query_preparation import PreparedQuery
from engrams.settings import ReadSettings, ScoreWeightSettings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Flags, Floats, Integers

_LONG_WORDS = 20.0
"""Words at which the length feature is capped: long answers must not win by length."""

_SAMPLE = 512
"""Size of the sample that bounds a selection among many scores."""

WEIGHTS: Mapping[str, str] = {
    "cos": "dense",
    "cosctx": "dense_window",
    "cosnext": "dense_next",
    "bm": "bm25",
    "bmctx": "bm25_window",
    "bmses": "bm25_session",
}
"""Features whose weight has another name in the settings."""

_ANSWER_RAISE = 0.9
"""Share of the way to the best score by which rank fusion raises what was asked for.

High enough that the gap of preset graph, 0.9 of the best score, does not cut the answer."""

_DAY_SECONDS = 86_400


_MEANING = ("cos", "cosctx", "cosnext")
"""Features that vectors give."""

_USUAL_COSINE = 0.13
_USUAL_DEVIATION = 0.12
"""Mean and standard deviation of the cosines of a query and the turns of a chat, as the models have
them that the weights were set for."""

_FEWEST_COSINES = 50
"""Candidates from which the spread of a model's cosines is known."""


@dataclass(frozen=True, slots=True)
class MeaningScale:
    """Scale on which one search takes the features of vectors."""

    gain: float = 1.0
    """Factor on their weights."""
    trust: float = 1.0
    """Share of meaning that they tell, 0..1; words tell the rest."""
    has_usual_cosines: bool = True
    """False: the cosines are brought to the spread of the models that the weights were set for."""
    query_terms: int = 0
    """Number of the query's terms."""


_AS_IT_IS = MeaningScale()


@dataclass(frozen=True, slots=True)
class ScoredCandidatePool:
    """Scores of a pool's candidates."""

    scores: Floats
    """Score of each candidate, 0..1."""
    parts: Mapping[str, Floats]
    """Share of each feature in the scores, by its name."""

    def add_part(self, name: str, shares: Floats) -> ScoredCandidatePool:
        """Add another feature's shares to the scores."""
        return ScoredCandidatePool(
            np.clip(self.scores + shares, 0, 1), {**self.parts, name: shares}
        )


def score_pool(
    pool: CandidatePool,
    prepared: PreparedQuery,
    settings: ReadSettings,
    now: float,
    meaning: MeaningScale = _AS_IT_IS,
) -> ScoredCandidatePool:
    """Fuse the sources into scores.

    ``weighted`` adds absolute scores, divided by the weights that every query has; ``sum`` adds
    them as they are; ``rrf`` adds 1 / (k + rank) of each list (Cormack, Clarke and Büttcher 2009).
    ``now``: seconds since 1970. Where the query asks of the asker alone, the statements that answer
    it are raised in any fusion.
    """
    answering = prepared.answering
    features = _build_features(pool, prepared.cues, settings, now)
    if answering:
        features["slot"] = fill_column(pool, answering)
    if settings.fusion == "rrf":
        parts = _score_ranks(features, settings.rrf_k)
        if answering and settings.weights.slot:
            parts["slot"] = _raise_answers(parts, np.maximum(features["slot"], 0))
        return ScoredCandidatePool(sum(parts.values(), np.zeros(len(pool.ids), np.float32)), parts)
    weights = settings.weights
    words: Floats | None = None
    if settings.fusion == "sum":
        features |= _scale_words(features, settings, pool)
    elif meaning is not _AS_IT_IS:
        weights = _raise_meaning(weights, meaning.gain)
        features |= _scale_meaning(features, pool, meaning)
        words = _word_cosines(pool, meaning)
    divisor = (base_weight(weights) if settings.fusion == "weighted" else 1.0) or 1.0
    shares = {
        name: np.float32(getattr(weights, WEIGHTS.get(name, name)) / divisor) for name in features
    }
    parts = {name: features[name] * share for name, share in shares.items() if share}
    if settings.fusion == "sum" and {"cos", "bm"} <= parts.keys():
        # Without a vector, words stand in for meaning: the parts say so.
        parts["bm"] = parts["bm"] + np.where(pool.embedded, 0, parts["cos"])
        parts["cos"] = np.where(pool.embedded, parts["cos"], 0)
    if words is not None:
        # Words that stand in for meaning are no meaning: the parts say so.
        parts["bm"] = parts.get("bm", 0) + words * (shares["cos"] + shares["cosctx"])
    if prepared.asks_of_oneself and "slot" in parts:
        del parts["slot"]
        parts["slot"] = _raise_answers(parts, np.maximum(features["slot"], 0))
    scores = np.zeros(len(pool.ids), np.float32)
    for part in parts.values():
        scores += part
    return ScoredCandidatePool(scores.clip(0, 1, out=scores), parts)


def _build_features(
    pool: CandidatePool, cues: QueryCues, settings: ReadSettings, now: float
) -> dict[str, Floats]:
    features = {
        "cos": np.maximum(pool.cos, 0),
        "cosctx": np.maximum(pool.cosctx, 0),
        "cosnext": np.maximum(pool.cosnext, 0),
        "bm": pool.bm,
        "bmctx": pool.bmctx,
        "bmses": pool.bmses,
        "question": pool.question,
        "length": np.minimum(pool.words, _LONG_WORDS) / _LONG_WORDS,
        "importance": pool.importance,
        "confidence": pool.confidence,
    }
    if pool.voices and (cues.asked_about or cues.role):
        features["speaker"] = _score_voices(pool, cues)
    spans = cues.dated_spans
    if spans:
        features["date"] = np.where(pool.undated, 0, score_dates(spans, pool.times))
    if cues.wants_time:
        features["when"] = pool.dated
    if settings.weights.identifier and pool.identified.any():
        features["identifier"] = pool.identified
    if settings.weights.recency:
        days = np.maximum(now - pool.times, 0.0) / _DAY_SECONDS
        tau = settings.recency_days if pool.aging is None else _list_taus(pool.aging, settings)
        features["recency"] = np.exp(-days / tau)
    return {name: values.astype(np.float32, copy=False) for name, values in features.items()}


def _list_taus(aging: Flags, settings: ReadSettings) -> Floats:
    """Days in which each candidate fades to 1/e; long-term ones fade more slowly."""
    return np.where(aging, settings.longterm_days, settings.recency_days).astype(np.float32)


def _scale_words(
    features: Mapping[str, Floats], settings: ReadSettings, pool: CandidatePool
) -> dict[str, Floats]:
    """Scale BM25 by the setting; it replaces the cosine of unembedded records."""
    words = features["bm"]
    if settings.bm25_scale == "saturated":
        saturated = saturate_bm25(words * np.float32(pool.largest_bm))
        words = np.where(words > 0, saturated, 0).astype(np.float32)
    meaning = np.where(pool.embedded, features["cos"], words).astype(np.float32)
    return {"bm": words, "cos": meaning}


def _raise_meaning(weights: ScoreWeightSettings, gain: float) -> ScoreWeightSettings:
    if gain == 1.0:
        return weights
    names = [WEIGHTS[feature] for feature in _MEANING]
    return weights.model_copy(update={name: gain * getattr(weights, name) for name in names})


def _scale_meaning(
    features: Mapping[str, Floats], pool: CandidatePool, meaning: MeaningScale
) -> dict[str, Floats]:
    """Scale what vectors say of the candidates."""
    scaled = {name: features[name] for name in _MEANING}
    if not meaning.has_usual_cosines and np.count_nonzero(pool.embedded) >= _FEWEST_COSINES:
        cosines = pool.cos[pool.embedded]
        mean = float(cosines.mean())
        factor = _USUAL_DEVIATION / max(float(cosines.std()), 1e-3)
        for name, values in scaled.items():
            # 0 is no cosine, but says that there is no turn: the last of a session has none after it.
            usual = np.where(values, (values - mean) * factor + _USUAL_COSINE, 0)
            scaled[name] = np.clip(usual, 0, 1)
    if meaning.trust < 1:
        scaled = {name: meaning.trust * values for name, values in scaled.items()}
    return {name: values.astype(np.float32, copy=False) for name, values in scaled.items()}


def _word_cosines(pool: CandidatePool, meaning: MeaningScale) -> Floats | None:
    """Cosines of bags of words, for the share of meaning that vectors do not tell.

    A record whose vector is still to be made must not lose to those that have theirs. The cosine is
    the share of the query's words, less for longer texts. None: vectors tell everything.
    """
    share = 1 - meaning.trust * pool.embedded
    if not share.any():
        return None
    lengths = np.sqrt(max(meaning.query_terms, 1) / np.maximum(pool.words, 1))
    return np.asarray(share * np.minimum(pool.bm * lengths, 1), np.float32)


def _score_voices(pool: CandidatePool, cues: QueryCues) -> Floats:
    speakers = [speaker for speaker, _ in pool.voices]
    roles = [role for _, role in pool.voices]
    scores: Floats = score_speakers(cues, speakers, roles)[pool.voice]
    return scores


def _score_ranks(features: Mapping[str, Floats], k: float) -> dict[str, Floats]:
    """Reciprocal ranks by meaning and by words; first in both lists is 1."""
    parts = {}
    for name in ("cos", "bm"):
        values = features[name]
        ranks = np.empty(len(values), np.float32)
        ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        parts[name] = np.where(values > 0, (k + 1) / (2 * (k + ranks)), 0).astype(np.float32)
    return parts


def _raise_answers(parts: Mapping[str, Floats], fits: Floats) -> Floats:
    """Raise statements of the kind asked for most of the way to the best score.

    They need no rank by words or meaning: few words of "moved to Ghent" are in "Where do I live?".
    Their order among themselves stays.
    """
    reached = sum(parts.values(), np.zeros(len(fits), np.float32))
    return (_ANSWER_RAISE * fits * (1 - reached)).astype(np.float32)


def base_weight(weights: ScoreWeightSettings) -> float:
    """Sum the weights of the sources that every query has, without cues."""
    return (
        weights.dense
        + weights.dense_window
        + weights.dense_next
        + weights.bm25
        + weights.bm25_window
        + weights.bm25_session
    )


def saturate_bm25(bm25: Floats) -> Floats:
    """Map BM25 to 0.3..0.99: ``0.3 + 0.69 * |bm25| / (1 + |bm25|)``."""
    size = np.abs(bm25)
    return np.asarray(0.3 + 0.69 * size / (1.0 + size), np.float32)


def fill_column(pool: CandidatePool, values: Mapping[str, float]) -> Floats:
    """Make a column of the pool from values by record id; 0 for all others."""
    column = np.zeros(len(pool.ids), np.float32)
    positions = pool.ids.positions
    for record_id, value in values.items():
        position = positions.get(record_id)
        if position is not None:
            column[position] = value
    return column


def top_positions(scores: Floats, count: int) -> Integers:
    """Find the positions of the ``count`` highest scores, best first, stable."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    likely = scores
    if len(scores) > _SAMPLE:
        # A sample gives a lower bound; only the few scores above it need to be looked at.
        sample = scores[:: len(scores) // _SAMPLE]
        spare = min(2 * count * len(sample) // len(scores) + 8, len(sample))
        bound = np.partition(sample, len(sample) - spare)[len(sample) - spare]
        above = scores[scores >= bound]
        if len(above) >= count:
            likely = above
    lowest = np.partition(likely, len(likely) - count)[len(likely) - count]
    positions = np.flatnonzero(scores >= lowest)
    return positions[np.argsort(-scores[positions], kind="stable")][:count]
