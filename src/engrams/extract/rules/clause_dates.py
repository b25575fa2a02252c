"""Times of a clause: which counts, when a state began, when a change was over."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.extract.rules.time_names import names_thing
from engrams.text.late_patterns import holds_any
from engrams.text.times import EARLIEST, LATEST, TimeSpan, find_times

_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_VAGUE = frozenset(
    "recently|lately|the other day|these days|nowadays|currently|soon|later|earlier|just now".split(
        "|"
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
_NUMBERS = dict(
    zip(
        "half a|a|an|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty".split("|"),
        (0.5, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20),
        strict=True,
    )
)
_RECENT = timedelta(days=62)
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
_STARTING_WORDS = ("from ", "starting ", "beginning ", "effective ")
"""Each match holds one of these: looking for them is cheaper than matching."""
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
    if not holds_any(text.lower(), _STARTING_WORDS):
        return None
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


def find_duration_start(text: str, said: datetime) -> datetime | None:
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


def resolve_validity(
    spans: Sequence[TimeSpan],
    quote: str,
    said: datetime,
    tense: str,
    *,
    effect: str,
    is_event: bool,
) -> tuple[datetime | None, datetime | None]:
    """Return from when a statement is true, and the time by which it is compared with others.

    ``spans``: the times of its clause, whose words are ``quote``.
    """
    since = next((one for one in spans if one.text.lower().startswith("since")), None)
    if since is not None and EARLIEST < since.start <= said:
        return since.start, said
    if not is_event and effect not in ("changes", "ends"):
        is_over = tense in ("past", "was", "used")
        return None if is_over else find_duration_start(quote, said), said
    when = pick_most_exact(spans)
    if when is not None and when.start <= said:
        # A move of last month holds now, whatever else was said in that month.
        is_recent = when.grain in ("week", "weekend", "month") and said - when.end < _RECENT
        return when.start, said if is_recent else min(when.end, said)
    is_dateless = tense == "used" or effect not in ("changes", "ends")
    if is_dateless or (effect == "ends" and is_event):
        return None, said
    return said, said
