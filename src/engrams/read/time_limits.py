"""Memories that count at some times only: seasonal ones, and episodes up to an age and a number."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engrams.core import Hit, Kind, Record
from engrams.ports import Condition, RecordQuery, RecordStore, Where
from engrams.read.request import ReadRequest

_SEASON_TAG = "season:"
_MOST_STALE = 1000
"""Stale episodes that one search leaves out."""


def out_of_season(record: Record, seasons: Sequence[str]) -> str:
    """Reason if none of the record's seasons is set, else empty."""
    record_seasons = [
        tag.removeprefix(_SEASON_TAG) for tag in record.tags if tag.startswith(_SEASON_TAG)
    ]
    if not record_seasons or any(season in seasons for season in record_seasons):
        return ""
    return f"only in season: {', '.join(record_seasons)}"


def find_stale_episodes(request: ReadRequest, records: RecordStore, days: float) -> frozenset[str]:
    """Find the ids of episodes older than ``days``, to be left out."""
    if request.kinds and Kind.EPISODE not in request.kinds:
        return frozenset()
    is_older = Condition("recorded_at", "lt", request.now - timedelta(days=days))
    page = records.find(
        RecordQuery(
            request.reach, (Kind.EPISODE,), where=Where("and", (is_older,)), limit=_MOST_STALE
        )
    )
    return frozenset(record.id for record in page.records)


def find_surplus_episodes(hits: Sequence[Hit], limit: int) -> list[str]:
    """Find the ids of episodes beyond the first ``limit`` of the hits."""
    return [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE][limit:]
