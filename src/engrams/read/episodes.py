"""Summaries of sessions among what is found: not too old, and not too many (004)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engrams.ports import Condition, Query, Records, Where
from engrams.read.request import ReadRequest
from engrams.types import Hit, Kind, Record

_MOST = 1000


def find_stale(request: ReadRequest, records: Records, days: float) -> frozenset[str]:
    """Ids of episodes of more than so many days ago; none where ``days`` is 0."""
    if not days or (request.kinds and Kind.EPISODE not in request.kinds):
        return frozenset()
    before = Where("and", (Condition("recorded_at", "lt", request.now - timedelta(days=days)),))
    return frozenset(record.id for record in records.find(Query(request.reach, (Kind.EPISODE,), where=before, limit=_MOST)).records)


def drop_surplus(hits: Sequence[Hit], most: int) -> dict[str, str]:
    """Why episodes after the first ``most`` are left out; 0: none is."""
    found = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
    return dict.fromkeys(found[most:], f"more than {most} episodes") if most else {}


def find_latest(request: ReadRequest, records: Records) -> Record | None:
    """The last episode, however old."""
    found = records.find(Query(request.reach, (Kind.EPISODE,), limit=1)).records
    return found[0] if found else None
