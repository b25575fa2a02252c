"""Scores that fall with age: of hits by the settings, of confidence by kind, of memories
without a query.

``apply_decay`` and ``apply_confidence_decay`` serve stages of a search; the other functions are the
formulas, which sweeps use, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from engrams.core import Hit, Kind, Layer, Record, Status, find_basis
from engrams.frozen_data import replace
from engrams.settings import ReadSettings
from engrams.text.vocabulary import word_set

LIFE: Mapping[Kind, float] = {
    Kind.CORRECTION: 365.0,
    Kind.PREFERENCE: 90.0,
    Kind.FACT: 30.0,
    Kind.PROCEDURE: 60.0,
}
"""Days in which confidence falls to 1/e, by kind."""

INFERRED_LIFE = 7.0
ENTITY_LIFE = 60.0
OTHER_LIFE = 45.0
DECAYING = frozenset({Kind.CORRECTION, Kind.PREFERENCE, Kind.FACT, Kind.PROCEDURE, Kind.NOTE})
"""Kinds whose confidence falls with age; rules hold until they are changed."""
_FACT_CATEGORIES = frozenset(("", "fact")) | word_set(
    "knowledge context behavior goal correction preference home work education family identity health"
    " skill language possession technical activity plan decision event procedure rule relationship"
    " coping_strategy loss trigger"
)
"""Categories of facts that rules and models give."""

_DAY_SECONDS = 86_400.0
_CLEARLY_FARTHER = 0.85
"""Share of another hit's nearness to the query below which a hit is clearly farther from it."""

_KIND_SCORES: Mapping[Kind, float] = {
    Kind.CORRECTION: 50.0,
    Kind.NEGATIVE: 50.0,
    Kind.PREFERENCE: 30.0,
    Kind.RULE: 30.0,
    Kind.PROCEDURE: 20.0,
    Kind.FACT: 10.0,
}
_OTHER_KIND_SCORE = 5.0
_HIGH_TRUST = 0.8
_LOW_TRUST = 0.5


def age_days(record: Record, now: datetime) -> float:
    """Days since ``valid_from``, else ``recorded_at``."""
    return max(
        (now - (record.valid_from or record.recorded_at)).total_seconds() / _DAY_SECONDS, 0.0
    )


def is_of_custom_category(record: Record) -> bool:
    """Check for a fact whose category neither rules nor models give, nor means an entity."""
    return record.kind is Kind.FACT and record.category not in (*_FACT_CATEGORIES, "entity")


def lifetime_days(record: Record) -> float:
    """Days in which a record's confidence falls to 1/e.

    An inferred record has a week, and a fact of a custom category as long as one of no kind here.
    """
    if find_basis(record) == "inferred":
        return INFERRED_LIFE
    if record.category == "entity":
        return ENTITY_LIFE
    if is_of_custom_category(record):
        return OTHER_LIFE
    return LIFE.get(record.kind, OTHER_LIFE)


def decayed_confidence(record: Record, now: datetime) -> float:
    """Confidence after decay, 0..1.

    ``confidence * exp(-age / lifetime) * (1 + 0.1 * ln(accesses + 1)) * trust``
    """
    use_factor = 1.0 + 0.1 * math.log(max(record.access_count, 0) + 1)
    return min(
        record.confidence
        * math.exp(-age_days(record, now) / lifetime_days(record))
        * use_factor
        * record.trust,
        1.0,
    )


def ambient_score(record: Record, now: datetime) -> float:
    """Score without a query, by age, use, kind, trust and strength.

    0 for a record that is not active, else::

        (100 / (1 + age_days) + 10 * sqrt(accesses) + kind) * trust + 5 * ln(strength)

    with 50 to 5 by kind and 1.5, 1 or 0.7 by trust.
    """
    if record.status is not Status.ACTIVE:
        return 0.0
    base = (
        100.0 / (1.0 + age_days(record, now))
        + 10.0 * math.sqrt(max(record.access_count, 0))
        + _KIND_SCORES.get(record.kind, _OTHER_KIND_SCORE)
    )
    if record.trust >= _HIGH_TRUST:
        trust_factor = 1.5
    elif record.trust >= _LOW_TRUST:
        trust_factor = 1.0
    else:
        trust_factor = 0.7
    return base * trust_factor + 5.0 * math.log(max(record.strength, 1))


def exponential_decay(days: float, tau: float) -> float:
    """``exp(-days / tau)``: 1 at age 0, 1/e at tau."""
    return math.exp(-max(days, 0.0) / tau)


def half_life_decay(days: float, half_life: float) -> float:
    """``2 ** (-days / half_life)``; 1 for a half-life of 0."""
    return 2.0 ** (-max(days, 0.0) / half_life) if half_life > 0 else 1.0


def blend_recency(relevance: float, recency: float, weight: float) -> float:
    """``(1 - weight) * relevance + weight * recency``."""
    return (1.0 - weight) * relevance + weight * recency


def access_boost(hours: float, max_boost: float) -> float:
    """``1 + most * exp(-hours / 24)``: factor for recent use."""
    return 1.0 + max_boost * math.exp(-max(hours, 0.0) / 24.0)


def score_lasting(hits: Iterable[Hit], merged: Mapping[str, str]) -> dict[str, float]:
    """Find the score that each hit keeps at any age: the best one of its facts that hold.

    ``merged``: ids of facts that are part of a hit, with the id of that hit.
    """
    lasting: dict[str, float] = {}
    for hit in hits:
        record = hit.record
        target_id = merged.get(record.id)
        if target_id is None or _fades(record) or record.status is not Status.ACTIVE:
            continue
        lasting[target_id] = max(lasting.get(target_id, 0.0), hit.score)
    return lasting


def apply_decay(
    hits: Sequence[Hit],
    settings: ReadSettings,
    now: datetime,
    lasting: Mapping[str, float],
) -> list[Hit]:
    """Apply half-life and recency to scores, best first, if they are set.

    ``lasting``: of ``score_lasting``.
    """
    if not (settings.half_life_days or settings.recency_weight):
        return list(hits)
    decayed = (_decay_hit(hit, settings, now, lasting.get(hit.record.id, 0.0)) for hit in hits)
    return sorted(decayed, key=lambda hit: -hit.score)


def changes_by_belief(settings: ReadSettings) -> bool:
    """Test for settings by which confidence and use change scores."""
    return bool(settings.confidence_decay or settings.access_boost)


def apply_confidence_decay(
    hits: Sequence[Hit],
    settings: ReadSettings,
    now: datetime,
    nearness: Mapping[str, float],
) -> list[Hit]:
    """Multiply scores by decayed confidence and by recent use, as far as they are set.

    Best first. The order tells more than the scores, which end at 1. ``nearness``: how near hits are
    to the query, by record id. One that is clearly farther than another stays behind it, however
    old that one is: age orders what answers a question equally well.
    """
    scores = {hit.record.id: _score_belief(hit, settings, now) for hit in hits}
    scores |= _keep_behind_nearer(scores, nearness)
    ranked = sorted(
        hits,
        key=lambda hit: (scores[hit.record.id], nearness.get(hit.record.id, 0.0)),
        reverse=True,
    )
    return [_with_score(hit, min(scores[hit.record.id], 1.0)) for hit in ranked]


def _keep_behind_nearer(
    scores: Mapping[str, float], nearness: Mapping[str, float]
) -> dict[str, float]:
    """Limit each score to the lowest one of the hits that are clearly nearer to the query.

    Of the hits of known nearness.
    """
    nearest_first = sorted(nearness, key=lambda record_id: -nearness[record_id])
    limited = {}
    limit = math.inf
    compared = 0
    for record_id in nearest_first:
        while nearness[record_id] < _CLEARLY_FARTHER * nearness[nearest_first[compared]]:
            limit = min(limit, scores[nearest_first[compared]])
            compared += 1
        limited[record_id] = min(scores[record_id], limit)
    return limited


def _fades(record: Record) -> bool:
    """True for what was said on a day.

    Facts do not fade, nor does MEMORY.md: they are closed when something replaces them.
    """
    return record.layer is Layer.EPISODIC


def _decay_hit(hit: Hit, settings: ReadSettings, now: datetime, lasting: float) -> Hit:
    """Let a hit fade, but not below ``lasting``, the score of a fact that was joined to it."""
    days = age_days(hit.record, now)
    score = hit.score
    if _fades(hit.record):
        faded = score * half_life_decay(days, settings.half_life_days)
        score = max(faded, min(score, lasting))
    recency = exponential_decay(days, settings.recency_days)
    return _with_score(hit, blend_recency(score, recency, settings.recency_weight))


def _score_belief(hit: Hit, settings: ReadSettings, now: datetime) -> float:
    """Multiply a hit's score by its record's belief and use; it may exceed 1."""
    record = hit.record
    score = hit.score
    if settings.confidence_decay and record.kind in DECAYING:
        score *= decayed_confidence(record, now)
    if record.last_accessed is not None:
        hours = (now - record.last_accessed).total_seconds() / 3600
        score *= access_boost(hours, settings.access_boost)
    return score


def _with_score(hit: Hit, score: float) -> Hit:
    """Give a hit its score of this age; its part ``age`` is the whole difference."""
    change = hit.parts.get("age", 0.0) + score - hit.score
    return replace(hit, score=score, parts={**hit.parts, "age": round(change, 4)})
