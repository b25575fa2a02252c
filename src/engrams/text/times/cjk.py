"""Numerals and dates shared by Chinese and Japanese."""

from __future__ import annotations

from collections.abc import Mapping

from engrams.text.times.calendar_math import LocalInterval, month_span
from engrams.text.times.grammar import DatePart, Piece, TimeRuleMatch
from engrams.text.times.lexicon import HOURS
from engrams.text.times.numeric_dates import clock_minutes

_DIGITS = {
    char: value
    for value, chars in enumerate(
        ("〇零○", "一壱", "二两兩", "三", "四", "五", "六", "七", "八", "九")
    )
    for char in chars
}
MONTH = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
DAY = r"(?:[12]\d|3[01]|0?[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
YEAR = r"(?:(?:1[5-9]|20)\d\d|[一二][〇零○一二三四五六七八九]{3})"
NUMBER = r"(?:\d{1,4}|[一二两兩三四五六七八九十百]{1,5})"
WEEKDAYS = {
    char: index
    for index, chars in enumerate(("一月", "二火", "三水", "四木", "五金", "六土", "日天"))
    for char in chars
}
SEASONS = {"春": 0, "夏": 1, "秋": 2, "冬": 3}


def parse_number(text: str) -> int:
    """Parse digits or Chinese numerals below 1000; 0 for none."""
    if text.isdecimal():
        return int(text)
    if not any(char in "十百" for char in text):
        return int("".join(str(_DIGITS.get(char, 0)) for char in text) or "0")
    total = 0
    pending_digit = 0
    for char in text:
        if char in "十百":
            total += (pending_digit or 1) * (10 if char == "十" else 100)
            pending_digit = 0
        else:
            pending_digit = _DIGITS.get(char, 0)
    return total + pending_digit


def on_date(m: TimeRuleMatch) -> Piece | None:
    """Read a Chinese or Japanese date: year, month, day, or a range."""
    year = parse_number(m["y"]) if m["y"] else None
    month = parse_number(m["m"]) if m["m"] else 0
    if not month:
        return DatePart("year", m.start(), m.end(), year=year)
    if not m["d"]:
        return DatePart("month", m.start(), m.end(), year=year, month=month)
    day = parse_number(m["d"])
    last = parse_number(m["d2"]) if m["d2"] else 0
    return (
        None
        if last and last <= day
        else DatePart("date", m.start(), m.end(), year=year, month=month, day=day, last_day=last)
    )


def on_time(names: Mapping[str, str], m: TimeRuleMatch) -> Piece | None:
    """Read a Chinese or Japanese clock time or part of day."""
    name = names[m["u"]] if m["u"] else ""
    if not m["h"]:
        return DatePart("clock", m.start(), m.end(), hours=HOURS[name])
    hour = parse_number(m["h"])
    if m["half"]:
        minute = 30
    elif m["n"]:
        minute = parse_number(m["n"])
    else:
        minute = None
    if name in ("afternoon", "evening", "night") and hour < 12:
        hour += 12
    return (
        DatePart("clock", m.start(), m.end(), hours=clock_minutes(hour, minute))
        if hour <= 23 and (minute or 0) <= 59
        else None
    )


def on_decade(m: TimeRuleMatch) -> Piece | None:
    value = parse_number(m["y"])
    if value < 100:
        value += 1900 if value >= 30 else 2000
    span: LocalInterval = month_span(value, 1, 120, "range")
    return DatePart("fixed", m.start(), m.end(), span=span)


def on_counted(m: TimeRuleMatch, unit: str, sign: int) -> Piece | None:
    """Read a counted time such as "three days ago", also "a few"."""
    if m["v"]:
        return DatePart("about", m.start(), m.end(), unit=unit, offset=sign, count=(2, 5))
    count = parse_number(m["n"]) if m["n"] else 0
    if m["half"]:
        smaller = {
            "year": ("month", 12, 6),
            "month": ("week", 4, 2),
            "week": ("day", 7, 3),
            "day": ("hour", 24, 12),
            "hour": ("minute", 60, 30),
        }
        if unit not in smaller:
            return None
        name, size, half = smaller[unit]
        return DatePart("unit", m.start(), m.end(), unit=name, offset=sign * (count * size + half))
    return DatePart("unit", m.start(), m.end(), unit=unit, offset=sign * count)
