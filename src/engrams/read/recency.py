"""Decay of scores with age, in days; future times have age 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from engrams.settings import ReadSettings
from engrams.types import Hit, Layer, Record

_DAY = 86_400.0


def age_days(record: Record, now: datetime) -> float:
    """Days since ``valid_from``, else ``recorded_at``."""
    return max((now - (record.valid_from or record.recorded_at)).total_seconds() / _DAY, 0.0)


def exponential_decay(days: float, tau: float) -> float:
    """``exp(-days / tau)``: 1 at age 0, 1/e at tau (000, 002)."""
    return math.exp(-max(days, 0.0) / tau)


def half_life_decay(days: float, half_life: float) -> float:
    """``2 ** (-days / half_life)`` (001); 1 for a half-life of 0."""
    return 2.0 ** (-max(days, 0.0) / half_life) if half_life > 0 else 1.0


def blend_recency(relevance: float, recency: float, weight: float) -> float:
    """``(1 - weight) * relevance + weight * recency`` (002)."""
    return (1.0 - weight) * relevance + weight * recency


def access_boost(hours: float, most: float) -> float:
    """``1 + most * exp(-hours / 24)``: factor for recent use (003)."""
    return 1.0 + most * math.exp(-max(hours, 0.0) / 24.0)


def apply_decay(hits: Sequence[Hit], settings: ReadSettings, now: datetime) -> list[Hit]:
    """Apply the decay settings to scores, best first, if any are set."""
    if not (settings.half_life_days or settings.recency_weight or settings.access_boost):
        return list(hits)
    return sorted((_decay_hit(hit, settings, now) for hit in hits), key=lambda hit: -hit.score)


def _decay_hit(hit: Hit, settings: ReadSettings, now: datetime) -> Hit:
    days = age_days(hit.record, now)
    # Only episodic memories age: facts are closed when something replaces them (001: none for MEMORY.md).
    score = hit.score * (half_life_decay(days, settings.half_life_days) if hit.record.layer is Layer.EPISODIC else 1.0)
    score = blend_recency(score, exponential_decay(days, settings.recency_days), settings.recency_weight)
    used = hit.record.last_accessed
    if used is not None:
        score = min(score * access_boost((now - used).total_seconds() / 3600, settings.access_boost), 1.0)
    return replace(hit, score=score, parts={**hit.parts, "age": round(score - hit.score, 4)})
