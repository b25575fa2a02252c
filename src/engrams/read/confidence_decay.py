"""Confidence decay, and the order of memories without a query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from engrams.core import Kind, Record, Status, find_basis

LIFE: Mapping[Kind, float] = {
    Kind.CORRECTION: 365.0,
    Kind.PREFERENCE: 90.0,
    Kind.FACT: 30.0,
    Kind.PROCEDURE: 60.0,
}
"""Days in which confidence falls to 1/e, by kind."""

INFERRED = 7.0
ENTITY = 60.0
OTHER = 45.0
DECAYING = frozenset({Kind.CORRECTION, Kind.PREFERENCE, Kind.FACT, Kind.PROCEDURE, Kind.NOTE})
"""Kinds whose confidence falls with age; rules hold until they are changed."""

_DAY = 86_400.0

_KIND_SCORES: Mapping[Kind, float] = {
    Kind.CORRECTION: 50.0,
    Kind.NEGATIVE: 50.0,
    Kind.PREFERENCE: 30.0,
    Kind.RULE: 30.0,
    Kind.PROCEDURE: 20.0,
    Kind.FACT: 10.0,
}
_OTHER_KIND = 5.0
_HIGH = 0.8
_LOW = 0.5


def age_days(record: Record, now: datetime) -> float:
    """Days since ``valid_from``, else ``recorded_at``."""
    return max((now - (record.valid_from or record.recorded_at)).total_seconds() / _DAY, 0.0)


def lifetime_days(record: Record) -> float:
    """Days in which a record's confidence falls to 1/e; inferred: a week."""
    if find_basis(record) == "inferred":
        return INFERRED
    if record.category == "entity":
        return ENTITY
    return LIFE.get(record.kind, OTHER)


def decayed_confidence(record: Record, now: datetime) -> float:
    """Confidence after decay, 0..1.

    ``confidence * exp(-age / lifetime) * (1 + 0.1 * ln(accesses + 1)) * trust``
    """
    used = 1.0 + 0.1 * math.log(max(record.access_count, 0) + 1)
    return min(
        record.confidence
        * math.exp(-age_days(record, now) / lifetime_days(record))
        * used
        * record.trust,
        1.0,
    )


def ambient_score(record: Record, now: datetime) -> float:
    """Score without a query, by age, use, kind, trust and strength.

    0 for a record that is not active, else ``(100 / (1 + age_hours / 24) + 10 * sqrt(accesses) +
    {50, 30, 20, 10, 5} by kind) * {1.5, 1,
    0.7} by trust + 5 * ln(strength)``
    """
    if record.status is not Status.ACTIVE:
        return 0.0
    base = (
        100.0 / (1.0 + age_days(record, now))
        + 10.0 * math.sqrt(max(record.access_count, 0))
        + _KIND_SCORES.get(record.kind, _OTHER_KIND)
    )
    if record.trust >= _HIGH:
        trust = 1.5
    elif record.trust >= _LOW:
        trust = 1.0
    else:
        trust = 0.7
    return base * trust + 5.0 * math.log(max(record.strength, 1))
