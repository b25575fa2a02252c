"""Seasonal memories, tagged as in ``season:release-week`` (003)."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.types import Record

TAG = "season:"


def out_of_season(record: Record, seasons: Sequence[str]) -> str:
    """Reason if none of the record's seasons is set, else empty."""
    own = [tag.removeprefix(TAG) for tag in record.tags if tag.startswith(TAG)]
    return "" if not own or any(name in seasons for name in own) else f"only in season: {', '.join(own)}"
