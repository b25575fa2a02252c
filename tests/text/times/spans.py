"""Reads the expected spans of a table:

"day 2023-07-11", "range 2023-05-01 2023-08-01", joined by "; ".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engrams.text.times import EARLIEST, LATEST, find_times

NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)
"""A Wednesday."""

_DAYS = {"day": 1, "week": 7, "weekend": 2}
_MONTHS = {"month": 1, "season": 3, "year": 12}


def _moment(text: str) -> datetime:
    if text == "now":
        return NOW
    if text in ("ever", "never"):
        return EARLIEST if text == "ever" else LATEST
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def expected(row: str) -> list[tuple[str, datetime, datetime]]:
    """Grain, start, end; the end follows from the grain where it is a calendar unit."""
    spans = []
    for part in filter(None, row.split("; ")):
        grain, first, *last = part.split()
        start = _moment(first)
        if last:
            end = _moment(last[0])
        elif grain in _DAYS:
            end = start + timedelta(days=_DAYS[grain])
        elif grain in _MONTHS:
            month = start.month - 1 + _MONTHS[grain]
            end = start.replace(year=start.year + month // 12, month=month % 12 + 1)
        else:
            end = start + timedelta(minutes=1 if grain == "minute" else 60)
        spans.append((grain, start, end))
    return spans


def found(text: str, now: datetime = NOW) -> list[tuple[str, datetime, datetime]]:
    return [(span.grain, span.start, span.end) for span in find_times(text, now)]


def texts(text: str, now: datetime = NOW) -> list[str]:
    return [span.text for span in find_times(text, now)]


def cases(listing: str) -> list[str]:
    """The texts of a listing, separated by bars and lines."""
    return [text.strip() for line in listing.strip().splitlines() for text in line.split("|")]


__all__ = ["NOW", "cases", "expected", "found", "texts"]
