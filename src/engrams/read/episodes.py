"""Limits on the age and number of episodes among hits (004)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engrams.ports import Condition, Query, Records, Where
from engrams.read.request import ReadRequest
from engrams.types import Hit, Kind, Record

_MOST = 1000


def find_stale(request: ReadRequest, records: Records, days: float) -> frozenset[str]:
    """Find ids of episodes older than ``days``; 0: none."""
    if not days or (request.kinds and Kind.EPISODE not in request.kinds):
        return frozenset()
    before = Where("and", (Condition("recorded_at", "lt", request.now - timedelta(days=days)),))
    return frozenset(record.id for record in records.find(Query(request.reach, (Kind.EPISODE,), where=before, limit=_MOST)).records)


def drop_surplus(hits: Sequence[Hit], most: int) -> dict[str, str]:
    """Map episodes beyond the first ``most`` to a reason; 0: no limit."""
    found = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
    return dict.fromkeys(found[most:], f"more than {most} episodes") if most else {}


def find_latest(request: ReadRequest, records: Records) -> Record | None:
    """Find the last episode, whatever its age."""
    found = records.find(Query(request.reach, (Kind.EPISODE,), limit=1)).records
    return found[0] if found else None
