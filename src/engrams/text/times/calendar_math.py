"""Calendar arithmetic on local, naive times.

All functions raise ValueError or OverflowError outside the years 1 to 9999.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from engrams.text.times.interval import Grain

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
BEGIN = datetime.combine(date.min, time.min)
END = datetime.combine(date.max, time.max)
_SEASON_MONTH = (3, 6, 9, 12)


_IN_DAYS = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
_IN_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


_FIXED_FEASTS = {
    "newyear": (1, 1, 1),
    "valentine": (2, 14, 1),
    "patrick": (3, 17, 1),
    "women": (3, 8, 1),
    "mayday": (5, 1, 1),
    "independence": (7, 4, 1),
    "bastille": (7, 14, 1),
    "china": (10, 1, 7),
    "halloween": (10, 31, 1),
    "eve": (12, 24, 1),
    "christmas": (12, 24, 3),
    "christmasday": (12, 25, 1),
    "boxing": (12, 26, 1),
    "silvester": (12, 31, 1),
    "epiphany": (1, 6, 1),
}
_EASTER_FEASTS = {
    "goodfriday": (-2, 1),
    "easter": (-2, 4),
    "eastersunday": (0, 1),
    "eastermonday": (1, 1),
    "holyweek": (-7, 8),
    "ash": (-46, 1),
    "palm": (-7, 1),
    "pentecost": (49, 2),
}


# Days since 1 January of the lunar new year, 2010 to 2035.
_LUNAR = (
    44,
    33,
    22,
    40,
    30,
    49,
    38,
    27,
    46,
    35,
    24,
    42,
    31,
    21,
    40,
    28,
    47,
    36,
    25,
    43,
    33,
    22,
    41,
    30,
    49,
    38,
)


class LocalInterval(NamedTuple):
    """Half-open local interval; ``BEGIN`` and ``END`` are open sides."""

    start: datetime
    end: datetime
    grain: Grain


def midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)


def day_span(first: date, count: int, grain: Grain = "day") -> LocalInterval:
    start = midnight(first)
    return LocalInterval(start, start + count * DAY, grain)


def add_months(day: date, months: int) -> date:
    """Add months to a day; clamp to the month's last day."""
    index = day.year * 12 + day.month - 1 + months
    first = date(index // 12, index % 12 + 1, 1)
    return first + (min(day.day, month_days(first.year, first.month)) - 1) * DAY


def month_days(year: int, month: int) -> int:
    if month == 12:
        return 31
    return (date(year, month + 1, 1) - date(year, month, 1)).days


def month_span(year: int, month: int, count: int, grain: Grain) -> LocalInterval:
    first = date(year, month, 1)
    return LocalInterval(midnight(first), midnight(add_months(first, count)), grain)


def season_span(year: int, index: int) -> LocalInterval:
    """Return a season's three calendar months, northern: spring 0, winter 3.

    A winter is named after the year it begins in.
    """
    return month_span(year, _SEASON_MONTH[index], 3, "season")


def decade_span(year: int) -> LocalInterval:
    return month_span(year, 1, 120, "range")


def weekend_span(day: date, offset: int = 0) -> LocalInterval:
    """Return Saturday and Sunday of the week of ``day`` (Monday first)."""
    return day_span(monday_before(day) + 5 * DAY + offset * WEEK, 2, "weekend")


def monday_before(day: date) -> date:
    return day - day.weekday() * DAY


def unit_span(name: str, now: datetime, offset: int) -> LocalInterval:
    """Return the calendar unit that holds ``now``, moved by ``offset`` units."""
    today = now.date()
    if name == "minute":
        start = now.replace(second=0, microsecond=0) + timedelta(minutes=offset)
        return LocalInterval(start, start + timedelta(minutes=1), "minute")
    if name == "hour":
        start = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=offset)
        return LocalInterval(start, start + timedelta(hours=1), "hour")
    if name == "day":
        return day_span(today + offset * DAY, 1)
    if name == "week" or name == "fortnight":
        return day_span(monday_before(today) + offset * _IN_DAYS[name] * DAY, 7, "week")
    if name == "weekend":
        return weekend_span(today, offset)
    if name == "month":
        return month_span(*_year_month(add_months(today.replace(day=1), offset)), 1, "month")
    if name == "quarter":
        first = add_months(date(today.year, (today.month - 1) // 3 * 3 + 1, 1), 3 * offset)
        return month_span(first.year, first.month, 3, "range")
    if name == "year":
        return month_span(today.year + offset, 1, 12, "year")
    if name == "decade":
        return decade_span(today.year // 10 * 10 + 10 * offset)
    if name == "century":
        return month_span(today.year // 100 * 100 + 100 * offset, 1, 1200, "range")
    raise ValueError(name)


def _year_month(day: date) -> tuple[int, int]:
    return day.year, day.month


def add_units(moment: datetime, name: str, count: int) -> datetime:
    """Move ``moment`` by ``count`` units, keeping the time of day."""
    if name in ("minute", "hour"):
        return moment + count * timedelta(**{name + "s": 1})
    if name in _IN_DAYS:
        return moment + count * _IN_DAYS[name] * DAY
    return datetime.combine(add_months(moment.date(), count * _IN_MONTHS[name]), moment.time())


def easter_sunday(year: int) -> date:
    """Compute Easter Sunday, Gregorian (anonymous algorithm of Nature, 1876)."""
    a = year % 19
    b = year // 100
    c = year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    total = h + k - 7 * m + 114
    return date(year, total // 31, total % 31 + 1)


def holiday_span(key: str, year: int) -> LocalInterval:
    """Return the days of a holiday.

    Christmas is the 24th to the 26th, Easter Good Friday to Monday, the lunar new year its eve and
    seven days.
    """
    if key == "thanksgiving" or key == "blackfriday":
        first = date(year, 11, 1)
        thursday = first + ((3 - first.weekday()) % 7 + 21) * DAY
        return day_span(thursday + (key == "blackfriday") * DAY, 1)
    if key == "lunar":
        return day_span(
            date(year, 1, 1) + (_LUNAR[_table_index(year, 2010, len(_LUNAR))] - 1) * DAY, 8, "range"
        )
    if key in _EASTER_FEASTS:
        shift, count = _EASTER_FEASTS[key]
        return day_span(easter_sunday(year) + shift * DAY, count, "day" if count == 1 else "range")
    month, first_day, count = _FIXED_FEASTS[key]
    return day_span(date(year, month, first_day), count, "day" if count == 1 else "range")


def _table_index(year: int, first: int, count: int) -> int:
    if not first <= year < first + count:
        raise ValueError(year)
    return year - first


def edge_span(span: LocalInterval, edge: str) -> LocalInterval:
    """Return the early, middle or late part of an interval.

    Thirds of a month or longer; three months at the start or end "of" a year.
    """
    start, end, grain = span
    if grain in ("minute", "hour", "day"):
        return span
    length = (end - start).days
    if grain == "year":
        width = 3 if edge in ("start", "end") else 4
        first = {"start": 1, "early": 1, "mid": 5}.get(edge, 13 - width)
        return month_span(start.year, first, width, "range")
    if grain == "month":
        cuts = (0, 10, 20, length)
    elif length >= 80:
        third = [add_months(start.date(), round(length / 30.4 / 3) * k) for k in (0, 1, 2)]
        cuts = (0, (third[1] - start.date()).days, (third[2] - start.date()).days, length)
    elif grain == "week":
        cuts = {"start": (0, 2, 2, 7), "early": (0, 2, 2, 7), "mid": (0, 1, 4, 7)}.get(
            edge, (0, 1, 4, 7)
        )
    else:
        cuts = (0, max(1, length // 3), max(1, length - length // 3), length)
    third_index = {"start": 0, "early": 0, "mid": 1}.get(edge, 2)
    return LocalInterval(
        start + cuts[third_index] * DAY, start + cuts[third_index + 1] * DAY, "range"
    )
