"""Fusion of raw source scores into one absolute score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engrams.ports import Pool
from engrams.read.cues import QueryCues, score_dates, score_speakers
from engrams.read.thresholds import saturate_bm25
from engrams.settings import ReadSettings, ReadWeights
from engrams.text.when import Span
from engrams.types import Hit

if TYPE_CHECKING:
    from engrams.ports.search import Flags, Floats, Integers

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

_CONTENT = ("cos", "cosctx", "cosnext", "bm", "bmctx", "bmses", "slot", "fact", "rerank", "trigger")


def content_score(hit: Hit) -> float:
    """Share of a score from content, without speaker and date."""
    return sum(hit.parts.get(name, 0.0) for name in _CONTENT)


@dataclass(frozen=True, slots=True)
class ScoredPool:
    """Scores of a pool, 0..1, with the share of each feature."""

    scores: Floats
    parts: Mapping[str, Floats]


def score_pool(pool: Pool, cues: QueryCues, answering: Mapping[str, float], settings: ReadSettings, now: float) -> ScoredPool:
    """Fuse the sources into scores.

    ``weighted`` adds absolute scores, ``sum`` likewise without normalised weights; ``rrf`` adds 1 / (k + rank) of each list
    (Cormack 2009).
    """
    features = _build_features(pool, cues, settings, now)
    if answering:
        features["slot"] = fill_column(pool, answering)
    if settings.fusion == "rrf":
        parts = _rank_scores(features, settings.rrf_k)
        return ScoredPool(sum(parts.values(), np.zeros(len(pool.ids), np.float32)), parts)
    weights = settings.weights
    if settings.fusion == "sum":
        features |= _scale_words(features, settings, pool.embedded)
    most = (base_weight(weights) if settings.fusion == "weighted" else 1.0) or 1.0
    shares = {name: np.float32(getattr(weights, WEIGHTS.get(name, name)) / most) for name in features}
    parts = {name: features[name] * share for name, share in shares.items() if share}
    total = np.zeros(len(pool.ids), np.float32)
    for part in parts.values():
        total += part
    return ScoredPool(np.clip(total, 0, 1), parts)


def _build_features(pool: Pool, cues: QueryCues, settings: ReadSettings, now: float) -> dict[str, Floats]:
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
    spans = query_spans(cues)
    if spans:
        features["date"] = score_dates(spans, pool.times)
    if cues.wants_time:
        features["when"] = pool.dated
    if settings.weights.recency:
        age = np.maximum(now - pool.times, 0.0) / 86_400
        features["recency"] = np.exp(-age / (settings.recency_days if pool.aging is None else _decay_days(pool.aging, settings)))
    return {name: values.astype(np.float32, copy=False) for name, values in features.items()}


def _decay_days(aging: Flags, settings: ReadSettings) -> Floats:
    """Days in which candidates fade to 1/e; long-term ones slower (000)."""
    return np.where(aging, settings.longterm_days, settings.recency_days).astype(np.float32)


def _scale_words(features: Mapping[str, Floats], settings: ReadSettings, embedded: Flags) -> dict[str, Floats]:
    """Scale BM25 by the setting; it replaces the cosine of unembedded records."""
    words = features["bm"]
    if settings.bm25_scale == "saturated":
        words = np.where(words > 0, saturate_bm25(words), 0).astype(np.float32)
    return {"bm": words, "cos": np.where(embedded, features["cos"], words).astype(np.float32)}


def _score_voices(pool: Pool, cues: QueryCues) -> Floats:
    """Score each record's speaker, once for each voice."""
    fits = score_speakers(cues, [name for name, _ in pool.voices], [role for _, role in pool.voices])
    found: Floats = fits[pool.voice]
    return found


def fill_column(pool: Pool, values: Mapping[str, float]) -> Floats:
    """Make a column of the pool from values by id, else 0."""
    column = np.zeros(len(pool.ids), np.float32)
    places = pool.ids.places
    for name, value in values.items():
        place = places.get(name)
        if place is not None:
            column[place] = value
    return column


def top_indices(scores: Floats, number: int) -> Integers:
    """Places of the ``number`` highest scores, best first, stable."""
    if number >= len(scores):
        return np.argsort(-scores, kind="stable")
    some = scores
    if len(scores) > _SAMPLE:
        # A sample gives a lower bound; only the few scores above it need to be looked at.
        sample = scores[:: len(scores) // _SAMPLE]
        spare = min(2 * number * len(sample) // len(scores) + 8, len(sample))
        likely = scores[scores >= np.partition(sample, len(sample) - spare)[len(sample) - spare]]
        some = likely if len(likely) >= number else scores
    least = np.partition(some, len(some) - number)[len(some) - number]
    found = np.flatnonzero(scores >= least)
    return found[np.argsort(-scores[found], kind="stable")][:number]


def query_spans(cues: QueryCues) -> list[Span]:
    """Times asked about, but not "now": current facts may be old."""
    return [span for span in cues.spans if not (cues.wants_current and span.grain == "range")]


def base_weight(weights: ReadWeights) -> float:
    """Summed weight of the sources that every query has, without cues."""
    return weights.dense + weights.dense_window + weights.dense_next + weights.bm25 + weights.bm25_window + weights.bm25_session


def _rank_scores(features: Mapping[str, Floats], k: float) -> dict[str, Floats]:
    parts = {}
    for name in ("cos", "bm"):
        values = features[name]
        rank = np.empty(len(values), np.float32)
        rank[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        parts[name] = np.where(values > 0, (k + 1) / (2 * (k + rank)), 0).astype(np.float32)
    return parts
