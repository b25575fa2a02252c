"""Times in a clause, resolved and written out."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.extract.rules.time_names import names_thing
from engrams.text.times import EARLIEST, LATEST, TimeSpan, find_times

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SEASON = re.compile(r"spring|summer|autumn|fall|winter", re.IGNORECASE)
_SINCE_MONTH = re.compile(rf"since (?:{'|'.join(_MONTHS)})", re.IGNORECASE)
_AT = re.compile(r"^at\b|\bat\s+$", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_PREPOSITION = re.compile(
    r"\b(on|in|at|since|until|till|by|from|during|for|of|before|after|around|the|to)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    (
        "recently",
        "lately",
        "the other day",
        "these days",
        "nowadays",
        "currently",
        "soon",
        "later",
        "earlier",
        "just now",
    )
)
_DURATION = re.compile(
    (
        r"\bfor (?:the (?:past|last) )?(?:about |over |almost |nearly |around |more than"
        r" )?(\d{1,3}|half an?|an?|two|three|four|five|six"
        r"|seven|eight|nine|ten|twelve|fifteen|twenty) (day|week|month|year|decade)s?\b"
    ),
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"from\b.*\b(?:to|til|till|until)\b", re.IGNORECASE)
_NUMBERS = {
    "half a": 0.5,
    "a": 1,
    "an": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
}
_TAKES = re.compile(r"in (?:\w+ ){1,2}(?:second|minute|hour)s?", re.IGNORECASE)
_THIS = re.compile(r"\bthis (month|year)\b", re.IGNORECASE)
_MONTHLY = timedelta(days=62)
_DAYS = {"day": 1, "week": 7}
_CALENDAR = {"month": 1, "year": 12, "decade": 120}


_DATED = re.compile(
    rf"(?:\b(?:{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b)|^\d{{1,2}}[/.]\d{{1,2}}$",
    re.IGNORECASE,
)
_LEAN = re.compile(
    r"\b(?:last|past|previous|ago|this|next|coming|yesterday|today|tomorrow|tonight)\b",
    re.IGNORECASE,
)


_STARTING = re.compile(
    r"\b(?:from|(?:starting|beginning|effective)(?: (?:in|on|from))?) (?:the )?(?=\w)(?P<date>[\w"
    r" ,.]{3,40})",
    re.IGNORECASE,
)
_ONWARDS = re.compile(r"(?: on\b(?: ?wards?)?| onwards?)?,?", re.IGNORECASE)
_UNTIL = re.compile(r"\s*(?:to|until|till|til|through|thru|-|–)\b", re.IGNORECASE)
_COMING = "I will go in "


def find_spans(text: str, said: datetime) -> tuple[TimeSpan, ...]:
    """Find the times that a text names."""
    return tuple(span for span in find_times(text, said) if not names_thing(span, text))


def find_planned_start(text: str, said: datetime) -> tuple[TimeSpan, int, int] | None:
    """Find ``from March`` or ``starting 1 May`` with a day to come.

    Returns the time, and where the phrase begins and ends. ``from Monday to Friday`` is none.
    """
    for match in _STARTING.finditer(text):
        span = next(
            (one for one in find_spans(_COMING + match["date"], said) if one.at == len(_COMING)),
            None,
        )
        if span is None or span.start <= said or span.grain == "range":
            continue
        end = match.start("date") + len(span.text)
        if not _UNTIL.match(text, end):
            onwards = _ONWARDS.match(text, end)
            return span, match.start(), onwards.end() if onwards else end
    return None


def names_year(span: TimeSpan) -> bool:
    """True where the words name a year, or are counted from now."""
    return bool(_YEAR.search(span.text) or _LEAN.search(span.text) or not _DATED.search(span.text))


def filter_within(found: Sequence[TimeSpan], start: int, end: int) -> tuple[TimeSpan, ...]:
    """Return the spans written between two positions."""
    return tuple(span for span in found if start <= span.at < end)


def pick_most_exact(found: Sequence[TimeSpan]) -> TimeSpan | None:
    """Pick the most exact span, the first of equals.

    Vague words and open sides do not count.
    """
    order = ("minute", "hour", "day", "weekend", "week", "month", "season", "year", "range")
    usable = [
        span
        for span in found
        if span.text.lower() not in _VAGUE and span.start != EARLIEST and span.end != LATEST
    ]
    return min(usable, key=lambda span: order.index(span.grain)) if usable else None


def duration_start(text: str, said: datetime) -> datetime | None:
    """Return the start of a state that lasts ``for four years``."""
    match = _DURATION.search(text)
    return _shift(said, match, -1) if match else None


def find_end(text: str, when: TimeSpan | None, said: datetime) -> datetime | None:
    """Return when a change was over: ``in 2009 … for a year``.

    ``when``: its time. Only where that was before ``said`` for sure, whatever day of ``when`` it
    began.
    """
    if when is None or when.end > said:
        return None
    if _FROM_TO.match(when.text):
        return when.end
    match = _DURATION.search(text)
    latest = _shift(when.end, match, 1) if match else None
    return _shift(when.start, match, 1) if match and latest and latest <= said else None


def _shift(moment: datetime, match: re.Match[str], sign: int) -> datetime | None:
    """Add the duration that ``_DURATION`` matched, or take it off."""
    number = int(match[1]) if match[1].isdigit() else _NUMBERS[match[1].lower()]
    unit = match[2].lower()
    if unit in _DAYS:
        return moment + sign * timedelta(days=number * _DAYS[unit])
    year, month = divmod(
        moment.year * 12 + moment.month - 1 + sign * int(number * _CALENDAR[unit]), 12
    )
    return (
        moment.replace(
            year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])
        )
        if 0 < year < 9999
        else None
    )


def spell_out(span: TimeSpan, before: str) -> str:
    """Write a span as an absolute date: ``on 7 May 2023``.

    Its own words stay where they name a year or mean no date. ``before``: the text before it; a
    preposition there is not repeated.
    """
    words = span.text
    if _TAKES.fullmatch(words):
        return words
    if span.grain == "range" and (part := _THIS.search(words)):
        last = span.end - timedelta(seconds=1)
        unit = (
            f"{_MONTHS[last.month - 1]} {last.year}"
            if part[1].lower() == "month"
            else str(last.year)
        )
        return (
            f"{words[: part.start()]}{'' if words[: part.start()].endswith('of ') else 'in '}{unit}"
        )
    if (
        _YEAR.search(words)
        or words.lower() in _VAGUE
        or span.start.year < 2
        or (span.grain == "range" and "ago" not in words.lower())
    ):
        return (
            f"{words} {span.start.year}"
            if _SINCE_MONTH.fullmatch(words) and span.start.year > 1
            else words
        )
    own = re.match(r"(?:on|in|at|by|since|until|during)\s+", words, re.IGNORECASE)
    given = _PREPOSITION.search(before)
    date = span.start
    last = span.end - timedelta(seconds=1)
    match span.grain:
        case "minute" | "hour":
            clock = re.search(r"\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b)?", words, re.IGNORECASE)
            lead = (
                f"at {clock[0].strip()} on "
                if clock
                and (
                    "m" in clock[0].lower()
                    or ":" in clock[0]
                    or _AT.search(words)
                    or _AT.search(before)
                )
                else "on "
            )
            text = f"{lead}{date.day} {_MONTHS[date.month - 1]} {date.year}"
        case "day":
            text = f"on {date.day} {_MONTHS[date.month - 1]} {date.year}"
        case "weekend":
            text = f"on the weekend of {date.day} {_MONTHS[date.month - 1]} {date.year}"
        case "week":
            text = f"in the week of {date.day} {_MONTHS[date.month - 1]} {date.year}"
        case "month":
            text = f"in {_MONTHS[date.month - 1]} {date.year}"
        case "range":
            middle = span.start + (span.end - span.start) / 2
            month = f"{_MONTHS[middle.month - 1]} " if span.end - span.start <= _MONTHLY else ""
            text = f"around {month}{middle.year}"
        case "season":
            name = _SEASON.search(words)
            text = (
                f"in {name[0].lower()} {date.year}"
                if name
                else f"in {_MONTHS[date.month - 1]} to {_MONTHS[last.month - 1]} {last.year}"
            )
        case _:
            text = f"in {date.year}"
    if own:
        return own[0] + text.partition(" ")[2]
    return text.partition(" ")[2] if given else text
