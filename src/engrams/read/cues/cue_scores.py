"""Scores of candidates against the cues of a query: times, speakers, and dates in texts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.core import Hit
from engrams.frozen_data import replace
from engrams.read.cues.name_mentions import ROLES
from engrams.read.cues.query_cues import QueryCues
from engrams.text.text_caches import text_cache
from engrams.text.times import EARLIEST, LATEST, TimeSpan, find_times

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DAY = 86_400.0
_YEAR = 365.2425 * _DAY
_EVER = 4e11
"""Seconds: beyond the years 1 to 9999 on either side."""
_EARLY = 0.5
"""Share of the score of a time before a span: plans are told of less often."""
_OTHER_YEAR = 0.7
"""Share of the score of a span without a year in every other year."""
_LONGEST_SPAN = 366
"""Days of the longest span that dates in texts are compared with."""
_MOST_TEXT = 2000
"""Characters of a memory that are parsed for dates."""


def score_dates(
    spans: Sequence[TimeSpan], times: npt.NDArray[np.float64]
) -> npt.NDArray[np.float32]:
    """Score times (seconds since 1970) by distance to the nearest of the spans, 0..1.

    Inside a span 1. After it (people tell of things later) ``exp(-days / tau)`` with tau = 6 days +
    half the span's length; before it (plans) half of ``exp(-days / tau)`` with tau = 5 days + 0.3 of
    its length, at most 30. The figures are measured: people told of days within 4 days, of weeks
    within 7, of months within 12 or up to 28 ahead, of years within 285. A span without a year
    counts in every other year at 0.7. An open side has no slack. Zeros without spans.
    """
    import numpy as np

    best = np.zeros(len(times), np.float32)
    bounded = np.clip(np.asarray(times, np.float64), -_EVER, _EVER)
    for span in spans:
        best = np.maximum(best, _score_span(span, bounded))
    return best


def _score_span(span: TimeSpan, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    import numpy as np

    start = -2 * _EVER if span.start == EARLIEST else span.start.timestamp()
    end = 2 * _EVER if span.end == LATEST else span.end.timestamp()
    score = _distance_score(times, start, end)
    if span.recurs and end - start < _YEAR / 2:
        years_away = np.round((times - (start + end) / 2) / _YEAR)
        in_span_year = _distance_score(times - years_away * _YEAR, start, end)
        score = np.maximum(score, np.where(years_away != 0, _OTHER_YEAR * in_span_year, 0))
    return score.astype(np.float32)


def _distance_score(
    times: npt.NDArray[np.float64], start: float, end: float
) -> npt.NDArray[np.float64]:
    """Score the distance of times to one span: 1 inside, less before and after it."""
    import numpy as np

    length = (end - start) / _DAY if end - start < _EVER else 0.0
    is_early = times < start
    distance = np.where(
        is_early,
        (start - times) / _DAY / min(5 + 0.3 * length, 30),
        np.maximum(times - end, 0) / _DAY / (6 + length / 2),
    )
    nearness = np.exp(-distance)
    return np.where(is_early, _EARLY * nearness, nearness)


def score_speakers(
    cues: QueryCues, speakers: Sequence[str], roles: Sequence[str] = ()
) -> npt.NDArray[np.float32]:
    """Score 1 for speakers asked about by name or role, else 0.

    By role: from ``roles``, or a speaker called user or assistant.
    """
    import numpy as np

    if cues.asked_about:
        return np.array([speaker in cues.asked_about for speaker in speakers], np.float32)
    if not cues.role:
        return np.zeros(len(speakers), np.float32)
    by_name = [ROLES.get(speaker.casefold()) == cues.role for speaker in speakers]
    if len(roles) != len(by_name):
        return np.array(by_name, np.float32)
    by_role = [role == cues.role for role in roles]
    return np.maximum(np.array(by_name, np.float32), np.array(by_role, np.float32))


def list_short_spans(spans: Sequence[TimeSpan]) -> list[TimeSpan]:
    """List the spans of at most a year: "since 2019" overlaps everything."""
    return [span for span in spans if (span.end - span.start).days <= _LONGEST_SPAN]


def raise_spoken_date(hit: Hit, asked_spans: Sequence[TimeSpan], full_share: float) -> Hit:
    """Raise the date score of a hit whose text names a time that overlaps one asked about.

    It counts in full, as being said at that time does. ``asked_spans``: short ones; ``full_share``:
    part of the score that a full date has.
    """
    record = hit.record
    share = hit.parts.get("date", 0.0)
    if share >= full_share:
        return hit
    said_at = record.valid_from or record.recorded_at
    spoken_spans = list_short_spans(_find_spans(record.text[:_MOST_TEXT], said_at))
    if not any(
        _overlap(spoken_span, asked_span)
        for spoken_span in spoken_spans
        for asked_span in asked_spans
    ):
        return hit
    return replace(
        hit,
        score=min(hit.score + full_share - share, 1.0),
        parts={**hit.parts, "date": round(full_share, 4)},
    )


@text_cache(8192)
def _find_spans(text: str, said_at: datetime) -> tuple[TimeSpan, ...]:
    """Find the times in a text, cached for the next query."""
    return find_times(text, said_at)


def _overlap(first: TimeSpan, second: TimeSpan) -> bool:
    return first.start < second.end and second.start < first.end
