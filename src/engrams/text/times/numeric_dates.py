"""Rules for dates in digits, the same in every language."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from engrams.text.times.calendar_math import LocalInterval, decade_span, month_span
from engrams.text.times.grammar import DatePart, Handler, Piece, Rule, TimeRuleMatch, word_set
from engrams.text.vocabulary import read_vocabulary

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")

_ISO = (
    r"(?<![\w./:+-])(?P<y>\d{4})[-/](?P<m>0?[1-9]|1[0-2])[-/](?P<d>\d{1,2})"
    r"(?:[t"
    r" ]\s?(?P<h>\d{1,2}):(?P<n>\d\d)(?::\d\d(?:[.,]\d{1,9})?)?(?:\s?(?P<z>z|[+-]\d\d:?\d\d)(?!\w))?)?(?!\d|[-/:.]\d)"
)
_YEAR_MONTH = r"(?<![\w./:+-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\w/]|[-.:]\d)"
_SLASH = r"(?<![\w./:+-])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>(?:19|20)\d\d|\d\d)(?![\w/])"
_DOTS = r"(?<![\w./:+-])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>(?:19|20)\d\d)(?![\w/]|[.:]\d)"
_YEAR = (
    r"(?<![\w./:+$#€£¥@'-])(?<!\d,)(?<!\d\s)(?P<y>(?:1[89]|20)\d\d)(?:\s?[-–—]\s?(?P<y2>(?:19|20)\d\d|\d\d)(?!\w))?"
    r"(?![\w%°$€£¥@]|[.,:/–-]\d|\s?[$€£¥%°]|[-–]\w)"
)

_COUNTED = word_set(read_vocabulary(__file__, "counted"))
_NUMBERED = word_set(read_vocabulary(__file__, "numbered"))
_ROUND = (1800, 1900, 2000)


def full_year(text: str) -> int:
    """Expand a two-digit year: 70 to 99 are 1970 to 1999."""
    digits = text.lstrip("'")
    value = int(digits)
    if len(digits) > 2:
        return value
    return 1900 + value if value >= 70 else 2000 + value


def _on_iso(m: TimeRuleMatch) -> Piece | None:
    part = DatePart(
        "date", m.start(), m.end(), year=int(m["y"]), month=int(m["m"]), day=int(m["d"])
    )
    if not m["h"]:
        return part
    hour = int(m["h"])
    minute = int(m["n"])
    if hour > 23 or minute > 59:
        return replace(part, end=m.start("h") - 1)
    if not m["z"]:
        return replace(part, hours=clock_minutes(hour, minute))
    shift = timedelta()
    if (offset := _OFFSET.match(m["z"])) is not None:
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3])) * (
            -1 if offset[1] == "-" else 1
        )
    try:
        start = datetime(int(m["y"]), int(m["m"]), int(m["d"]), hour, minute, tzinfo=UTC) - shift
    except (ValueError, OverflowError):  # 31 February is no date
        return None
    return DatePart(
        "fixed",
        part.at,
        part.end,
        span=LocalInterval(start, start + timedelta(minutes=1), "minute"),
    )


def _on_year_month(m: TimeRuleMatch) -> Piece | None:
    return DatePart("month", m.start(), m.end(), year=int(m["y"]), month=int(m["m"]))


def _slash_handler(month_first: bool) -> Handler:
    """Read 05/07/2023 in the language's order, unless impossible."""

    def handle(m: TimeRuleMatch) -> Piece | None:
        a = int(m["a"])
        b = int(m["b"])
        month, day = (a, b) if (month_first and a <= 12) or b > 12 else (b, a)
        return (
            DatePart("date", m.start(), m.end(), year=full_year(m["y"]), month=month, day=day)
            if month <= 12
            else None
        )

    return handle


def _on_dots(m: TimeRuleMatch) -> Piece | None:
    return DatePart(
        "date", m.start(), m.end(), year=int(m["y"]), month=int(m["m"]), day=int(m["d"])
    )


def digit_rules(month_first: bool) -> tuple[Rule, ...]:
    """Return the rules for dates of digits alone."""
    return (
        (_ISO, _on_iso),
        (_YEAR_MONTH, _on_year_month),
        (_SLASH, _slash_handler(month_first)),
        (_DOTS, _on_dots),
    )


def year_rule(strong: Set[str]) -> Rule:
    """Return the rule for a bare year.

    Counts, prices and numbers of things are excluded. ``strong``: words after which even 2000 is a
    year.
    """

    def handle(m: TimeRuleMatch) -> Piece | None:
        if m.word_after(m.end()) in _COUNTED:
            return None
        before = m.word_before(m.start())
        first = int(m["y"])
        if before not in strong and (before in _NUMBERED or first in _ROUND or first < 1900):
            return None
        if not m["y2"]:
            return DatePart("year", m.start(), m.end(), year=first)
        last = int(m["y2"]) if len(m["y2"]) == 4 else first // 100 * 100 + int(m["y2"])
        if last <= first:
            return None
        return DatePart(
            "fixed", m.start(), m.end(), span=month_span(first, 1, 12 * (last - first + 1), "range")
        )

    return _YEAR, handle


def on_decade(m: TimeRuleMatch) -> Piece | None:
    """Read a decade: "the 1980s" or "the 80s"."""
    value = int(m["y"])
    if value < 100:
        value += 1900 if value >= 30 else 2000
    return DatePart("fixed", m.start(), m.end(), span=decade_span(value))


def clock_minutes(hour: int, minute: int | None) -> tuple[int, int]:
    """Return minutes of the day [from, to) of a clock time."""
    first = hour * 60 + (minute or 0)
    return first, first + (60 if minute is None else 1)
