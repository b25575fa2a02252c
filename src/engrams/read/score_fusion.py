"""Fusion of source scores into one absolute score.

Floors, dates and decay are applied here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Hit, Layer
from engrams.frozen_data import dataclass
from engrams.ports import CandidatePool
from engrams.read.confidence_decay import DECAYING, age_days, decayed_confidence
from engrams.read.cues import QueryCues, score_dates, score_speakers
from engrams.settings import ReadSettings, ScoreWeightSettings
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.times import TimeSpan, find_times

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Flags, Floats, Integers

__all__ = ["age_days"]

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


_LONGEST_SPAN = 366
"""Days of the longest span used: "since 2019" overlaps everything."""

_MOST_TEXT = 2000
"""Characters of a memory that are parsed."""


_SHARED = 2
_OF_RECORD = 0.4
EDGE = 1e-6
"""Tolerance: cosines are float32, and floors are inclusive."""


@dataclass(frozen=True, slots=True)
class ScoredCandidatePool:
    """Scores of a pool, 0..1, with the share of each feature."""

    scores: Floats
    parts: Mapping[str, Floats]


def score_pool(
    pool: CandidatePool,
    cues: QueryCues,
    answering: Mapping[str, float],
    settings: ReadSettings,
    now: float,
) -> ScoredCandidatePool:
    """Fuse the sources into scores.

    ``weighted`` adds absolute scores, ``sum`` likewise without normalised weights; ``rrf`` adds 1 /
    (k + rank) of each list (Cormack 2009).
    """
    features = _build_features(pool, cues, settings, now)
    if answering:
        features["slot"] = fill_column(pool, answering)
    if settings.fusion == "rrf":
        parts = _rank_scores(features, settings.rrf_k)
        return ScoredCandidatePool(sum(parts.values(), np.zeros(len(pool.ids), np.float32)), parts)
    weights = settings.weights
    if settings.fusion == "sum":
        features |= _scale_words(features, settings, pool.embedded)
    most = (base_weight(weights) if settings.fusion == "weighted" else 1.0) or 1.0
    shares = {
        name: np.float32(getattr(weights, WEIGHTS.get(name, name)) / most) for name in features
    }
    parts = {name: features[name] * share for name, share in shares.items() if share}
    if settings.fusion == "sum" and {"cos", "bm"} <= parts.keys():
        # Without a vector, words stand in for meaning: the parts say so.
        parts["bm"] = parts["bm"] + np.where(pool.embedded, 0, parts["cos"])
        parts["cos"] = np.where(pool.embedded, parts["cos"], 0)
    total = np.zeros(len(pool.ids), np.float32)
    for part in parts.values():
        total += part
    return ScoredCandidatePool(total.clip(0, 1, out=total), parts)


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
    spans = query_spans(cues)
    if spans:
        features["date"] = score_dates(spans, pool.times)
    if cues.wants_time:
        features["when"] = pool.dated
    if settings.weights.identifier and pool.identified.any():
        features["identifier"] = pool.identified
    if settings.weights.recency:
        age = np.maximum(now - pool.times, 0.0) / 86_400
        features["recency"] = np.exp(
            -age
            / (settings.recency_days if pool.aging is None else _decay_days(pool.aging, settings))
        )
    return {name: values.astype(np.float32, copy=False) for name, values in features.items()}


def _decay_days(aging: Flags, settings: ReadSettings) -> Floats:
    """Days in which candidates fade to 1/e; long-term ones slower."""
    return np.where(aging, settings.longterm_days, settings.recency_days).astype(np.float32)


def _scale_words(
    features: Mapping[str, Floats], settings: ReadSettings, embedded: Flags
) -> dict[str, Floats]:
    """Scale BM25 by the setting; it replaces the cosine of unembedded records."""
    words = features["bm"]
    if settings.bm25_scale == "saturated":
        words = np.where(words > 0, saturate_bm25(words), 0).astype(np.float32)
    return {"bm": words, "cos": np.where(embedded, features["cos"], words).astype(np.float32)}


def _score_voices(pool: CandidatePool, cues: QueryCues) -> Floats:
    fits = score_speakers(
        cues, [name for name, _ in pool.voices], [role for _, role in pool.voices]
    )
    found: Floats = fits[pool.voice]
    return found


def fill_column(pool: CandidatePool, values: Mapping[str, float]) -> Floats:
    """Make a column of the pool from values by id, else 0."""
    column = np.zeros(len(pool.ids), np.float32)
    places = pool.ids.positions
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


def query_spans(cues: QueryCues) -> list[TimeSpan]:
    """Times asked about, but not "now": current facts may be old."""
    return [span for span in cues.spans if not (cues.wants_current and span.grain == "range")]


def base_weight(weights: ScoreWeightSettings) -> float:
    """Summed weight of the sources that every query has, without cues."""
    return (
        weights.dense
        + weights.dense_window
        + weights.dense_next
        + weights.bm25
        + weights.bm25_window
        + weights.bm25_session
    )


def _rank_scores(features: Mapping[str, Floats], k: float) -> dict[str, Floats]:
    parts = {}
    for name in ("cos", "bm"):
        values = features[name]
        rank = np.empty(len(values), np.float32)
        rank[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        parts[name] = np.where(values > 0, (k + 1) / (2 * (k + rank)), 0).astype(np.float32)
    return parts


def raise_spoken_dates(
    hits: Sequence[Hit],
    spans: Sequence[TimeSpan],
    weights: ScoreWeightSettings,
    most: float,
    timeless: Callable[[str], bool],
) -> list[Hit]:
    """Raise date scores of hits whose text names one of ``spans``.

    ``most``: the weights' sum that scores are divided by. ``timeless``: test for ids whose text
    names no time. Overlap counts in full, as being said at that time does.
    """
    asked = [span for span in spans if (span.end - span.start).days <= _LONGEST_SPAN]
    if not asked or weights.date <= 0:
        return list(hits)
    full = weights.date / most
    raised = [hit if timeless(hit.record.id) else _raise_date(hit, asked, full) for hit in hits]
    return sorted(raised, key=lambda hit: -hit.score)


def _raise_date(hit: Hit, asked: Sequence[TimeSpan], full: float) -> Hit:
    record = hit.record
    said = record.valid_from or record.recorded_at
    had = hit.parts.get("date", 0.0)
    if had >= full or not any(
        _overlap(span, other)
        for span in _find_spans(record.text[:_MOST_TEXT], said)
        for other in asked
    ):
        return hit
    parts = {**hit.parts, "date": round(full, 4)}
    return Hit(
        record=record,
        score=min(hit.score + full - had, 1.0),
        status=hit.status,
        parts=parts,
        facts=hit.facts,
        snippet=hit.snippet,
        outdated=hit.outdated,
    )


@text_cache(8192)
def _find_spans(text: str, said: datetime) -> tuple[TimeSpan, ...]:
    """Find the times in a text, cached for the next query."""
    return find_times(text, said)


def _overlap(one: TimeSpan, other: TimeSpan) -> bool:
    return (
        (one.end - one.start).days <= _LONGEST_SPAN
        and one.start < other.end
        and other.start < one.end
    )


def passes_floors(
    pool: CandidatePool, settings: ReadSettings, cosine: float, meaning: bool
) -> Flags:
    """Mask of candidates that reach the floor of a source in use.

    ``cosine``: the dense floor. ``meaning``: the query has a vector. BM25 counts where it has a
    weight, or where the query or the memory has no vector.
    """
    weights = settings.weights
    floors = settings.min_scores
    if not (cosine or floors.lexical or floors.recall):
        return np.ones(len(pool.ids), np.bool_)
    near = (pool.cos >= cosine - EDGE) & pool.embedded & bool(meaning and weights.dense)
    counted = np.full(len(pool.ids), bool(weights.bm25 or not meaning)) | ~pool.embedded
    worded = (pool.bm > 0) & (pool.bm >= floors.lexical - EDGE) & counted
    return np.asarray(near | worded, np.bool_)


def shares_enough_words(query: Sequence[str], text: str, share: float) -> bool:
    """Test for enough common words.

    Enough is ``share`` of the query's, or two that are 0.4 of the text's.
    """
    asked = set(query)
    own = set(terms(text))
    common = len(asked & own)
    return common > 0 and (
        common >= share * len(asked) or (common >= _SHARED and common >= _OF_RECORD * len(own))
    )


def cut_at_gap(scores: Sequence[float], top: float, drop: float) -> int:
    """Count the scores, best first, before the first gap; at least one.

    The gap is where a score falls below ``top`` of the best, or below ``drop`` of the one before it
    (0.90, 0.95).
    """
    for place in range(1, len(scores)):
        if (
            scores[place] < top * scores[0] - EDGE
            or scores[place] < drop * scores[place - 1] - EDGE
        ):
            return place
    return len(scores)


def saturate_bm25(r: Floats) -> Floats:
    """Map BM25 ``r`` to 0.3..0.99.

    ``0.3 + 0.69 * |r| / (1 + |r|)``
    """
    size = np.abs(r)
    return np.asarray(0.3 + 0.69 * size / (1.0 + size), np.float32)


def exponential_decay(days: float, tau: float) -> float:
    """``exp(-days / tau)``: 1 at age 0, 1/e at tau."""
    return math.exp(-max(days, 0.0) / tau)


def half_life_decay(days: float, half_life: float) -> float:
    """``2 ** (-days / half_life)``; 1 for a half-life of 0."""
    return 2.0 ** (-max(days, 0.0) / half_life) if half_life > 0 else 1.0


def blend_recency(relevance: float, recency: float, weight: float) -> float:
    """``(1 - weight) * relevance + weight * recency``."""
    return (1.0 - weight) * relevance + weight * recency


def access_boost(hours: float, most: float) -> float:
    """``1 + most * exp(-hours / 24)``: factor for recent use."""
    return 1.0 + most * math.exp(-max(hours, 0.0) / 24.0)


def apply_decay(hits: Sequence[Hit], settings: ReadSettings, now: datetime) -> list[Hit]:
    """Apply the decay settings to scores, best first, if any are set."""
    if not (
        settings.half_life_days
        or settings.recency_weight
        or settings.access_boost
        or settings.confidence_decay
    ):
        return list(hits)
    return sorted((_decay_hit(hit, settings, now) for hit in hits), key=lambda hit: -hit.score)


def _decay_hit(hit: Hit, settings: ReadSettings, now: datetime) -> Hit:
    days = age_days(hit.record, now)
    # Only episodic memories age: facts are closed when something replaces them (none for
    # MEMORY.md).
    score = hit.score * (
        half_life_decay(days, settings.half_life_days)
        if hit.record.layer is Layer.EPISODIC
        else 1.0
    )
    score = blend_recency(
        score, exponential_decay(days, settings.recency_days), settings.recency_weight
    )
    if settings.confidence_decay and hit.record.kind in DECAYING:
        score *= decayed_confidence(hit.record, now)
    used = hit.record.last_accessed
    if used is not None:
        score = min(
            score * access_boost((now - used).total_seconds() / 3600, settings.access_boost), 1.0
        )
    return replace(hit, score=score, parts={**hit.parts, "age": round(score - hit.score, 4)})
