"""Word tables of a language, and handlers that read matches.

Group names are the same in every language: n number, v vague number, u unit or thing, w last or
next, d day or weekday, m month, y year, s season, h hour, e edge, b bound, o ordinal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from engrams.text.times.grammar import (
    DatePart,
    ModKind,
    Piece,
    TimeModifier,
    TimeRuleMatch,
    phrase_key,
)
from engrams.text.times.numeric_dates import clock_minutes, full_year

HOURS = {
    "dawn": (240, 420),
    "morning": (300, 720),
    "noon": (690, 810),
    "afternoon": (720, 1080),
    "evening": (1020, 1440),
    "night": (1080, 1800),
    "midnight": (0, 60),
}
_VALUES: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(
        ("months", "weekdays", "numbers", "seasons", "leans", "ordinals", "day_weeks"), int
    ),
    "plain": lambda value: (value.split()[0], int(value.split()[1]), " ".join(value.split()[2:])),
}
FEW = {"couple": (1, 3), "few": (2, 5), "several": (3, 8)}


@dataclass(frozen=True, slots=True)
class TimeWordTables:
    """Word tables of a language's times, with the handlers of its rules.

    ``plain``: whole phrases to (unit, offset, part of the day). ``day_weeks``: counts of days that
    stand for weeks, as "quinze jours" for two.
    """

    months: Mapping[str, int] = field(default_factory=dict)
    weekdays: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    seasons: Mapping[str, int] = field(default_factory=dict)
    hours: Mapping[str, str] = field(default_factory=dict)
    holidays: Mapping[str, str] = field(default_factory=dict)
    leans: Mapping[str, int] = field(default_factory=dict)
    vague: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, ModKind] = field(default_factory=dict)
    plain: Mapping[str, tuple[str, int, str]] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    day_weeks: Mapping[str, int] = field(default_factory=dict)

    def parse_number(self, text: str) -> int:
        """Parse digits or a number word; 0 for neither."""
        word = phrase_key(text)
        return (
            int(word)
            if word.isdecimal()
            else self.numbers.get(word, 0) or self.ordinals.get(word, 0)
        )

    def on_plain(self, m: TimeRuleMatch) -> Piece | None:
        unit, offset, hours = self.plain[phrase_key(m[0])]
        return DatePart(
            "unit",
            m.start(),
            m.end(),
            unit=unit,
            offset=offset,
            hours=HOURS[hours] if hours else None,
        )

    def on_ago(self, m: TimeRuleMatch) -> Piece | None:
        """Read "three weeks ago" and "in three weeks"."""
        sign = 1 if m["f"] else -1
        unit = phrase_key(m["u"])
        if m["v"]:
            if unit not in self.units:
                return None
            return DatePart(
                "about",
                m.start(),
                m.end(),
                unit=self.units[unit],
                offset=sign,
                count=FEW[self.vague[phrase_key(m["v"])]],
            )
        count = self.parse_number(m["n"])
        if unit in self.weekdays:
            return DatePart(
                "weekday",
                m.start(),
                m.end(),
                index=self.weekdays[unit],
                lean=sign,
                count=(count, count),
            )
        if unit in self.seasons:
            return DatePart(
                "season",
                m.start(),
                m.end(),
                index=self.seasons[unit],
                lean=sign,
                count=(count, count),
            )
        name = self.units[unit]
        if name == "day" and str(count) in self.day_weeks:
            name, count = "week", self.day_weeks[str(count)]
        return DatePart("unit", m.start(), m.end(), unit=name, offset=sign * count)

    def on_moved_day(self, m: TimeRuleMatch) -> Piece | None:
        """Read "a week on Tuesday" and "a year ago today": the same day of another week or year.

        Group k is a count of days, n one of the unit u, b says that it is past.
        """
        day = phrase_key(m["d"])
        if m["k"]:
            days = self.parse_number(m["k"])
            unit, count = "week", self.day_weeks.get(str(days), days // 7)
        else:
            unit, count = self.units[phrase_key(m["u"])], self.parse_number(m["n"]) or 1
        moved = (unit, -count if m["b"] else count)
        if day in self.weekdays:
            return DatePart("weekday", m.start(), m.end(), index=self.weekdays[day], moved=moved)
        offset = self.plain[day][1] if day in self.plain else 1
        return DatePart("unit", m.start(), m.end(), unit="day", offset=offset, moved=moved)

    def on_days_of_month(self, m: TimeRuleMatch) -> Piece | None:
        """Read days of a month that is not named: "del 3 al 7"."""
        first = self.parse_number(m["d0"])
        last = self.parse_number(m["d"])
        if not (1 <= first <= 31 and 1 <= last <= 31) or first == last:
            return None
        return DatePart("dom", m.start(), m.end(), day=first, last_day=last)

    def on_stretch(self, m: TimeRuleMatch) -> Piece | None:
        """Read "the last three weeks": up to now, or from now.

        Without w it is the past; without n and v it is one unit.
        """
        sign = 1 if m["w"] and self.leans[phrase_key(m["w"])] > 0 else -1
        if m["v"]:
            count = FEW[self.vague[phrase_key(m["v"])]][1]
        elif m["n"]:
            count = self.parse_number(m["n"])
        else:
            count = 1
        return DatePart(
            "stretch",
            m.start(),
            m.end(),
            unit=self.units[phrase_key(m["u"])],
            offset=sign,
            count=(count, count),
        )

    def on_lately(self, m: TimeRuleMatch) -> Piece | None:
        """Read "recently" as the last thirty days."""
        return DatePart("stretch", m.start(), m.end(), unit="day", offset=-1, count=(30, 30))

    def on_days(self, m: TimeRuleMatch) -> Piece | None:
        """Read "these last days" as the last seven."""
        return DatePart("stretch", m.start(), m.end(), unit="day", offset=-1, count=(7, 7))

    def on_rel(self, m: TimeRuleMatch) -> Piece | None:
        """Read "last week", "next March", "this summer"."""
        lean = self.leans[phrase_key(m["w"])]
        unit_word = phrase_key(m["u"])
        at = m.start()
        end = m.end()
        side = DatePart("unit", at, end, lean=max(-1, min(lean, 1)), count=(abs(lean) or 1,) * 2)
        if unit_word in self.seasons:
            return replace(side, kind="season", index=self.seasons[unit_word])
        if unit_word in self.holidays:
            return replace(side, kind="holiday", name=self.holidays[unit_word])
        if unit_word in self.months:
            return replace(side, kind="month", month=self.months[unit_word])
        if unit_word in self.weekdays:
            return replace(side, kind="weekday", index=self.weekdays[unit_word])
        if unit_word in self.hours:
            name = self.hours[unit_word]
            if name in ("night", "evening"):
                back = lean
            elif lean == 0:
                back = 0
            else:
                back = None
            return (
                None
                if back is None
                else DatePart("unit", at, end, unit="day", offset=back, hours=HOURS[name])
            )
        unit = self.units[unit_word]
        return (
            None
            if unit in ("minute", "hour", "day")
            else DatePart("unit", at, end, unit=unit, offset=lean)
        )

    def on_month(self, m: TimeRuleMatch) -> Piece | None:
        year = m["y"]
        return DatePart(
            "month",
            m.start(),
            m.end(),
            month=self.months[m["m"]],
            year=full_year(year) if year else None,
        )

    def on_date(self, m: TimeRuleMatch) -> Piece | None:
        """Read "3 May 2024", also as a range of days."""
        day = self.parse_number(m["d"])
        last = 0
        if m["d0"]:
            day, last = self.parse_number(m["d0"]), day
        elif m["d2"]:
            last = self.parse_number(m["d2"])
        if not 1 <= day <= 31 or last > 31 or (last and last <= day):
            return None
        year = full_year(m["y"]) if m["y"] else None
        return DatePart(
            "date", m.start(), m.end(), year=year, month=self.months[m["m"]], day=day, last_day=last
        )

    def on_weekday(self, m: TimeRuleMatch) -> Piece | None:
        hours = m["h"]
        return DatePart(
            "weekday",
            m.start(),
            m.end(),
            index=self.weekdays[m["d"]],
            hours=HOURS[self.hours[hours]] if hours else None,
        )

    def on_season(self, m: TimeRuleMatch) -> Piece | None:
        return DatePart("season", m.start("s"), m.end("s"), index=self.seasons[m["s"]])

    def on_holiday(self, m: TimeRuleMatch) -> Piece | None:
        return DatePart("holiday", m.start("u"), m.end("u"), name=self.holidays[phrase_key(m["u"])])

    def on_quarter(self, m: TimeRuleMatch) -> Piece | None:
        """Read "Q2 2024" and "second quarter of 2024"."""
        index = int(m["q"]) if m["q"] else self.parse_number(m["o"])
        return DatePart(
            "quarter",
            m.start(),
            m.end(),
            index=index - 1,
            year=full_year(m["y"]) if m["y"] else None,
        )

    def on_weekend(self, m: TimeRuleMatch) -> Piece | None:
        return DatePart("unit", m.start("u"), m.end("u"), unit="weekend")

    def on_time(self, m: TimeRuleMatch) -> Piece | None:
        """Read a clock time or a part of the day: "evening"."""
        if m["u"]:
            return DatePart(
                "clock", m.start(), m.end(), hours=HOURS[self.hours[phrase_key(m["u"])]]
            )
        hour = int(m["h"])
        minute = int(m["n"]) if m["n"] else None
        if m["p"] or m["a"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if m["p"] else 0)
        return (
            DatePart("clock", m.start(), m.end(), hours=clock_minutes(hour, minute))
            if hour <= 23 and (minute or 0) <= 59
            else None
        )

    def on_edge(self, m: TimeRuleMatch) -> Piece | None:
        return TimeModifier("edge", m.start(), m.end(), name=self.edges[phrase_key(m["e"])])

    def on_edge_unit(self, m: TimeRuleMatch) -> Piece | None:
        """Read "end of the month" as this month's end."""
        edge = self.edges[phrase_key(m["e"])]
        unit_word = phrase_key(m["u"])
        if unit_word in self.seasons:
            return DatePart(
                "season", m.start(), m.end(), index=self.seasons[unit_word], lean=0, edge=edge
            )
        return DatePart("unit", m.start(), m.end(), unit=self.units[unit_word], offset=0, edge=edge)

    def on_bound(self, m: TimeRuleMatch) -> Piece | None:
        return TimeModifier(self.bounds[phrase_key(m["b"])], m.start("b"), m.end())

    def on_within(self, m: TimeRuleMatch) -> Piece | None:
        """Read "the week of 3 June"."""
        return TimeModifier("within", m.start(), m.end(), unit=self.units[phrase_key(m["u"])])

    def on_shift(self, m: TimeRuleMatch) -> Piece | None:
        """Read "two weeks before" and "two weeks after"."""
        unit = phrase_key(m["u"])
        if m["v"]:
            count = FEW[self.vague[phrase_key(m["v"])]][1] - 1
        elif m["n"]:
            count = self.parse_number(m["n"])
        else:
            count = 1
        signed = max(1, count) * (1 if m["f"] else -1)
        if unit in self.weekdays:
            return TimeModifier(
                "shift", m.start(), m.end(), unit="weekday", index=self.weekdays[unit], count=signed
            )
        hours = HOURS[self.hours[unit]] if unit in self.hours else None
        return TimeModifier(
            "shift",
            m.start(),
            m.end(),
            unit="day" if hours else self.units[unit],
            count=signed,
            hours=hours,
        )

    def on_nth(self, m: TimeRuleMatch) -> Piece | None:
        """Read "the second Monday of", counted from 0; last is -1."""
        order = phrase_key(m["o"])
        unit = phrase_key(m["u"])
        count = self.ordinals[order] - 1 if order in self.ordinals else -1
        index = self.weekdays.get(unit, -1)
        return TimeModifier(
            "nth",
            m.start(),
            m.end(),
            unit="weekday" if index >= 0 else self.units[unit],
            index=index,
            count=count,
        )


@cache
def load_lexicon(language: str) -> TimeWordTables:
    """Load a language's time words from ``lexicons/LANGUAGE.json``."""
    stored = json.loads(
        (resources.files(__package__) / "lexicons" / f"{language}.json").read_text("utf-8")
    )
    tables = {
        table: {
            word: _VALUES.get(table, str)(value) for value, words in rows.items() for word in words
        }
        for table, rows in stored.items()
    }
    return TimeWordTables(**tables)
