"""Apply modifiers to intervals."""

from __future__ import annotations

from datetime import date, datetime

from engrams.text.times import calendar_math
from engrams.text.times.calendar_math import BEGIN, DAY, END, LocalInterval
from engrams.text.times.grammar import TimeModifier
from engrams.text.times.interval import Grain

_LONG = ("month", "season", "year", "range")


_MINUTE = DAY / 1440
_GRAINS: dict[str, Grain] = {
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "week": "week",
    "month": "month",
    "year": "year",
}


def apply_modifier(mod: TimeModifier, span: LocalInterval, now: datetime) -> LocalInterval:
    """Apply a modifier to an interval. ValueError: it makes no sense."""
    start, end, _ = span
    match mod.kind:
        case "edge":
            return calendar_math.edge_span(span, mod.name)
        case "nth":
            return _apply_nth(mod, span)
        case "within":
            return calendar_math.unit_span(mod.unit, start, 0)
        case "shift":
            return _apply_shift(mod, span)
        case "since":
            return LocalInterval(start, now if start < now else END, "range")
        case "after":
            return LocalInterval(end, now if end < now else END, "range")
        case "until" | "by":
            return LocalInterval(now if end > now else BEGIN, end, "range")
        case "before":
            return LocalInterval(now if start > now else BEGIN, start, "range")
        case "from" | "between":
            return span


def _apply_nth(mod: TimeModifier, span: LocalInterval) -> LocalInterval:
    start, end, grain = span
    if grain not in _LONG:
        raise ValueError(grain)
    first = start.date()
    last = (end - DAY).date()
    if mod.unit == "half":
        middle = (
            calendar_math.midnight(date(start.year, 7, 1))
            if grain == "year"
            else start + (end - start).days // 2 * DAY
        )
        return (
            LocalInterval(start, middle, "range")
            if mod.count == 0
            else LocalInterval(middle, end, "range")
        )
    if mod.unit == "day":
        counted = calendar_math.day_span(_count_from(first, last, mod.count, 1), 1)
    elif mod.unit == "week":
        counted = calendar_math.day_span(
            _count_from(first, last - 6 * DAY, mod.count, 7), 7, "week"
        )
    elif mod.unit == "month":
        month = (
            calendar_math.add_months(first, mod.count) if mod.count >= 0 else last.replace(day=1)
        )
        counted = calendar_math.month_span(month.year, month.month, 1, "month")
    else:
        weekday = 5 if mod.unit == "weekend" else mod.index
        first_day = first + (weekday - first.weekday()) % 7 * DAY
        final = last - (last.weekday() - weekday) % 7 * DAY
        day = first_day + 7 * mod.count * DAY if mod.count >= 0 else final
        counted = (
            calendar_math.day_span(day, 2, "weekend")
            if mod.unit == "weekend"
            else calendar_math.day_span(day, 1)
        )
    if counted.start < start or counted.start >= end:
        raise ValueError(mod.count)
    return counted


def _count_from(first: date, last: date, count: int, size: int) -> date:
    return first + count * size * DAY if count >= 0 else last


def _apply_shift(mod: TimeModifier, span: LocalInterval) -> LocalInterval:
    """Return the n-th unit before the interval, or after it."""
    start, end, _ = span
    count = mod.count
    if mod.unit in ("weekday", "weekend"):
        weekday = 5 if mod.unit == "weekend" else mod.index
        if count < 0:
            edge = (start - DAY).date() if mod.unit == "weekday" else (start - 2 * DAY).date()
            day = edge - ((edge.weekday() - weekday) % 7 + 7 * (-count - 1)) * DAY
        else:
            edge = end.date()
            day = edge + ((weekday - edge.weekday()) % 7 + 7 * (count - 1)) * DAY
        return (
            calendar_math.day_span(day, 2, "weekend")
            if mod.unit == "weekend"
            else calendar_math.day_span(day, 1)
        )
    if count < 0:
        moved = LocalInterval(
            calendar_math.add_units(start, mod.unit, count),
            calendar_math.add_units(start, mod.unit, count + 1),
            _GRAINS.get(mod.unit, "range"),
        )
    else:
        moved = LocalInterval(
            calendar_math.add_units(end, mod.unit, count - 1),
            calendar_math.add_units(end, mod.unit, count),
            _GRAINS.get(mod.unit, "range"),
        )
    if mod.hours:
        first, last = mod.hours
        midnight = calendar_math.midnight(moved.start.date())
        return LocalInterval(midnight + first * _MINUTE, midnight + last * _MINUTE, "hour")
    return moved
