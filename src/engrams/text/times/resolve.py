"""Resolve a part of a date to an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice

from engrams.frozen_data import dataclass
from engrams.text.times import calendar_math
from engrams.text.times.calendar_math import DAY, LocalInterval
from engrams.text.times.grammar import DatePart

_SOON = timedelta(days=45)


@dataclass(frozen=True, slots=True)
class TimeViewpoint:
    """Reference time and direction for resolving a relative time.

    ``now``: local, naive. ``ahead``: the speaker looks ahead. ``near``: prefer a day of the coming
    weeks if nothing says past or future. ``behind``: what is told is over.
    """

    now: datetime
    ahead: bool = False
    near: bool = False
    behind: bool = False


def is_recurring(part: DatePart) -> bool:
    """Check that the part names no year."""
    return (
        part.kind in ("date", "month", "season", "holiday", "quarter")
        and part.year is None
        and part.lean is None
    )


def resolve_part(part: DatePart, sight: TimeViewpoint) -> LocalInterval:
    """Resolve a part. ValueError or OverflowError: no such time (31 February)."""
    span = _resolve_base(part, sight)
    if part.moved:
        start = calendar_math.add_units(span.start, *part.moved)
        span = calendar_math.day_span(start.date(), 1)
    if part.edge:
        span = calendar_math.edge_span(span, part.edge)
    return _at_hours(span, part.hours) if part.hours else span


def _resolve_base(part: DatePart, sight: TimeViewpoint) -> LocalInterval:
    now = sight.now
    match part.kind:
        case "date" | "month" | "season" | "holiday" | "quarter":
            return _resolve_yearly(part, sight)
        case "year":
            return calendar_math.month_span(part.year or 0, 1, 12, "year")
        case "weekday":
            return calendar_math.day_span(_resolve_weekday(part, sight), 1)
        case "dom":
            return _resolve_days_of_month(part, sight)
        case "unit":
            return _resolve_unit(part, sight)
        case "about":
            low, high = part.count
            ends = (-high, -low) if (part.offset or 0) < 0 else (low, high)
            return LocalInterval(
                calendar_math.unit_span(part.unit, now, ends[0]).start,
                calendar_math.unit_span(part.unit, now, ends[1]).end,
                "range",
            )
        case "stretch":
            far_end = calendar_math.add_units(now, part.unit, part.count[0] * (part.offset or 0))
            return LocalInterval(min(now, far_end), max(now, far_end), "range")
        case "fixed":
            assert part.span is not None
            return part.span
        case "clock":
            return calendar_math.day_span(now.date(), 1)


def _resolve_unit(part: DatePart, sight: TimeViewpoint) -> LocalInterval:
    if part.offset is not None:
        return calendar_math.unit_span(part.unit, sight.now, part.offset)
    current = calendar_math.unit_span(part.unit, sight.now, 0)
    if sight.ahead or current.start <= sight.now:
        return current
    return calendar_math.unit_span(part.unit, sight.now, -1)


def _at_hours(span: LocalInterval, hours: tuple[int, int]) -> LocalInterval:
    first, last = hours
    start = span.start + timedelta(minutes=first)
    end = span.start + timedelta(minutes=last)
    return LocalInterval(start, end, "minute" if last - first == 1 else "hour")


def _interval_by_year(part: DatePart) -> Callable[[int], LocalInterval]:
    """Return the function from a year to the interval that a part without a year means in it."""
    match part.kind:
        case "date":
            last = max(part.day, part.last_day)
            return lambda year: calendar_math.day_span(
                date(year, part.month, part.day),
                _day_count(year, part, last),
                "range" if part.last_day else "day",
            )
        case "month":
            return lambda year: calendar_math.month_span(year, part.month, 1, "month")
        case "season":
            return lambda year: calendar_math.season_span(year, part.index)
        case "quarter":
            return lambda year: calendar_math.month_span(year, 3 * part.index + 1, 3, "range")
        case _:
            return lambda year: calendar_math.holiday_span(part.name, year)


def _day_count(year: int, part: DatePart, last: int) -> int:
    return (date(year, part.month, last) - date(year, part.month, part.day)).days + 1


def _resolve_yearly(part: DatePart, sight: TimeViewpoint) -> LocalInterval:
    interval_in = _interval_by_year(part)
    if part.year is not None:
        return interval_in(part.year)
    now = sight.now
    today = calendar_math.midnight(now.date())
    # The span of a year begins and ends within a year of it: what is two years away has come, or
    # has not, for sure.
    later = _iter_spans(interval_in, range(now.year - 2, now.year + 9))
    earlier = _iter_spans(interval_in, range(now.year + 2, now.year - 9, -1))
    count = part.count[0] - 1
    if part.lean == 0:
        return next((span for span in later if span.start <= now < span.end), None) or interval_in(
            now.year
        )
    if part.lean == -1:
        return _pick_span((span for span in earlier if span.end <= today), count)
    if part.lean == 1:
        return _pick_span((span for span in later if span.start > now), count)
    if sight.ahead:
        return _pick_span((span for span in later if span.end > today), 0)
    if (
        sight.near
        and part.kind == "date"
        and (soon := next((span for span in later if today < span.start < today + _SOON), None))
    ):
        return soon
    return _pick_span((span for span in earlier if span.start <= now), 0)


def _iter_spans(
    interval_in: Callable[[int], LocalInterval], years: Iterable[int]
) -> Iterator[LocalInterval]:
    """Yield the spans of some years, made when they are asked for."""
    return (span for year in years if (span := _make_or_none(interval_in, year)) is not None)


def _make_or_none(interval_in: Callable[[int], LocalInterval], year: int) -> LocalInterval | None:
    try:
        return interval_in(year)
    except (
        ValueError,
        OverflowError,
    ):  # 29 February, or a year outside the calendar: not a candidate
        return None


def _pick_span(spans: Iterator[LocalInterval], index: int) -> LocalInterval:
    span = next(islice(spans, index, None), None)
    if span is None:
        raise ValueError(index)
    return span


def _resolve_weekday(part: DatePart, sight: TimeViewpoint) -> date:
    today = sight.now.date()
    if part.unit == "week" and part.offset is not None:
        return calendar_math.monday_before(today) + (7 * part.offset + part.index) * DAY
    before = today - ((today.weekday() - part.index - 1) % 7 + 1) * DAY
    after = today + ((part.index - today.weekday() - 1) % 7 + 1) * DAY
    count = part.count[0] - 1
    if part.lean == -1:
        return before - 7 * count * DAY
    this_week = calendar_math.monday_before(today) + part.index * DAY
    if part.lean == 1:
        return this_week + 7 * (1 + count) * DAY
    if part.lean == 0 and sight.behind:
        return this_week if this_week <= today else before
    if part.lean == 0:
        return after if this_week < today and (today.weekday() >= 5 or sight.ahead) else this_week
    return after if sight.ahead or (part.moved and part.moved[1] > 0) else before


def _resolve_days_of_month(part: DatePart, sight: TimeViewpoint) -> LocalInterval:
    """Resolve a day of a month, or days from one to another: "from the 28th to the 2nd"."""
    if not part.last_day:
        return calendar_math.day_span(_resolve_day_of_month(part, sight), 1)
    last = _resolve_day_of_month(replace(part, day=part.last_day), sight)
    until_last = TimeViewpoint(calendar_math.midnight(last))
    first = _resolve_day_of_month(replace(part, offset=None), until_last)
    return calendar_math.day_span(first, (last - first).days + 1, "range")


def _resolve_day_of_month(part: DatePart, sight: TimeViewpoint) -> date:
    today = sight.now.date()
    first = today.replace(day=1)
    if part.offset is not None:
        return calendar_math.add_months(first, part.offset).replace(day=part.day)
    shifts = range(3) if sight.ahead else range(0, -3, -1)
    for shift in shifts:
        month = calendar_math.add_months(first, shift)
        if part.day <= calendar_math.month_days(month.year, month.month):
            day = month.replace(day=part.day)
            if (day >= today) if sight.ahead else (day <= today):
                return day
    raise ValueError(part.day)


def resolve_nearest(part: DatePart, anchor: LocalInterval, *, before: bool) -> LocalInterval:
    """Resolve a recurring part nearest before or after another interval."""
    return resolve_part(
        replace(part, lean=None) if is_recurring(part) else part,
        TimeViewpoint(anchor.start, ahead=not before),
    )
