"""Date scores for memories whose text names the time asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from engrams.settings import ReadWeights
from engrams.text.cache import text_cache
from engrams.text.when import Span, find_times
from engrams.types import Hit

_LONGEST = 366
"""Days of the longest span used: "since 2019" overlaps everything."""

_TEXT = 2000
"""Characters of a memory that are parsed."""


def raise_spoken_dates(
    hits: Sequence[Hit], spans: Sequence[Span], weights: ReadWeights, most: float, timeless: Callable[[str], bool]
) -> list[Hit]:
    """Raise date scores of hits whose text names one of ``spans``.

    ``most``: the weights' sum that scores are divided by. ``timeless``: test for ids whose text names no time. Overlap counts in
    full, as being said at that time does.
    """
    asked = [span for span in spans if (span.end - span.start).days <= _LONGEST]
    if not asked or weights.date <= 0:
        return list(hits)
    full = weights.date / most
    raised = [hit if timeless(hit.record.id) else _raise_date(hit, asked, full) for hit in hits]
    return sorted(raised, key=lambda hit: -hit.score)


def _raise_date(hit: Hit, asked: Sequence[Span], full: float) -> Hit:
    record = hit.record
    said = record.valid_from or record.recorded_at
    had = hit.parts.get("date", 0.0)
    if had >= full or not any(_overlap(span, other) for span in _find_spans(record.text[:_TEXT], said) for other in asked):
        return hit
    return replace(hit, score=min(hit.score + full - had, 1.0), parts={**hit.parts, "date": round(full, 4)})


@text_cache(2048)
def _find_spans(text: str, said: datetime) -> tuple[Span, ...]:
    """Cached: the next query mostly finds the same texts."""
    return find_times(text, said)


def _overlap(one: Span, other: Span) -> bool:
    return (one.end - one.start).days <= _LONGEST and one.start < other.end and other.start < one.end
