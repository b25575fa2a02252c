"""Find the words that say that something recurs: "every other Friday", "dienstags", 每周四.

Enter it by ``find_recurrences``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from engrams.extract.rules.languages.language_table import load_language
from engrams.extract.rules.time_names import is_left_out, tells_rearrangement
from engrams.text.late_patterns import late_pattern

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SHORT = r"(?:Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)\b\.?"
_BRIEF = r"(?:mon|tues?|wed|thurs?|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_AND = r"\s*(?:,\s*(?:and\s+|or\s+)?|\s(?:and|or)\s+|&\s*|/\s*)(?:on\s+)?"
_TIME_OF_DAY = r"(?:\s+(?:mornings?|afternoons?|evenings?|nights?))?"
_COUNT = r"(?:other|second|third|two|three|four|few|couple\s+of|single|\d+)"
_ENGLISH = late_pattern(
    rf"\b(?:every|each|alternate|most)\s+(?:{_COUNT}\s+)?(?:{_DAY}s?|weekdays?|weekends?|days?|weeks?|months?|quarters?|years?"
    rf"|mornings?|evenings?|nights?|afternoons?|{_MONTH}|spring|summer|autumn|fall|winter){_TIME_OF_DAY}(?:{_AND}{_DAY}s?{_TIME_OF_DAY})*"
    rf"|\b(?:on\s+)?{_DAY}s(?:{_AND}{_DAY}s?)*\b|\b{_DAY}{_AND}{_DAY}s\b|\b{_DAY}\s+(?:mornings|afternoons|evenings|nights)\b"
    r"|\b(?:on|at)\s+(?:weekends|weekdays|weeknights)\b|\bweekdays\b|\bin\s+the\s+(?:mornings|evenings|afternoons)\b"
    r"|\b(?:once|twice|thrice|(?:\d+|two|three|four|five|six)\s+times|several\s+times)\s+(?:a|per|each|every)\s+(?:day|week|month|year)\b"
    r"|\b(?:daily|weekly|biweekly|bi-weekly|fortnightly|monthly|quarterly|yearly|annually|nightly)\b(?!-)"
    r"(?=\s*(?:[.,;!?)]|\Z)|\s+(?:at|on|in|to|with|from|for|and|by|since|until|after|before|because|so|but|or|as|of|the|my|our|i|we|he|she|they)\b"
    r"|\s+(?:\w+\s+)?(?:calls?|meetings?|stand-?ups?|reviews?|sessions?|runs?|class|classes|check-?ins?|syncs?|newsletters?|visits?|injections?|doses?|walks?"
    r"|workouts?|practice|reports?|retros?|catch-?ups?|lessons?|appointments?|pills?|backups?|swims?|shop|payments?)\b(?!\s+(?:limit|quota|rate|volume|budget|summary|total|cap)))"
    r"|\bthe\s+(?:first|second|third|fourth|last|\d{1,2}(?:st|nd|rd|th))(?:\s+(?:day|week(?:end)?|"
    rf"{_DAY}))?\s+of\s+(?:the|each|every)\s+(?:month|year|quarter)\b(?<!of the year)"
)
_WEEKDAY_LIST = late_pattern(
    rf"\b{_DAY}(?:{_AND}{_DAY})+|\b{_DAY}(?:[\s,]+(?:and\s+)?{_DAY}){{2,}}|\b{_BRIEF}(?:[\s,/&]+(?:and\s+)?{_BRIEF}){{2,}}\b|\b{_DAY}\s*(?:-|–|to|through|thru)\s*{_DAY}"
)
_STAYS = late_pattern(r"(?:\b(?:am|is|are|be|stay|stays)|'(?:m|re|s))\s(?:\w+\s){0,5}from\s+\Z")
"""Words before the days of one stay: "I'm in Rome from Thursday to Monday"."""
_OTHER_DAY = (
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"
)
_OTHER_LIST = late_pattern(
    rf"\b{_OTHER_DAY}(?:(?:\s*,\s*|\s+)(?:(?:und|y|et|o|oder|ou)\s+)?{_OTHER_DAY})+\b"
    rf"|\b(?:(?:von|vom|del?|du)\s+)?{_OTHER_DAY}\s*(?:-|–|\bbis\b|\bal?\b|\bau\b)\s*{_OTHER_DAY}\b"
)
"""Weekdays one after another in German, Spanish and French."""
_OTHER_STAY = late_pattern(
    r"\b(?:bin|sind|ist|est(?:oy|amos|á|án)|suis|est|sommes|reste|bleib\w*|quedo)\b"
)
"""Verbs of one stay: "estoy en Roma de jueves a lunes"."""
_SHORT_LIST = re.compile(rf"\b{_SHORT}(?:\s*[-–/&,]\s*|\s+(?:and|to)\s+){_SHORT}")
_WEEKDAY = late_pattern(rf"\b{_DAY}\b")
_PLURAL = late_pattern(rf"\b{_DAY}s\b")
_USUAL = late_pattern(
    r"\b(?:usually|always|normally|typically|generally|regularly|whenever|routinely)\b"
)
_HABIT_DAY = late_pattern(
    rf"\b(?:(?:bin|trash|rubbish|garbage|recycling|laundry|wash|pay|market|bath|leg|rest|chest|gym|cheat|fish|pizza|game|movie|quiz|date"
    rf"|office|cleaning|shopping|release|deploy|patch)[\s-]?(?:day|night)|day\s+off|days\s+off|stand-?up|rehearsals?|choir|practice|training"
    rf"|collection|pick-?up)\s+(?:is|are|'s|has\s+moved\s+to|moved\s+to|is\s+now)\s+(?:now\s+)?(?:on\s+)?{_DAY}\b"
    rf"|\b(?:is|are|'s)\s+(?:on\s+)?{_DAY}\s+(?:now|these\s+days|from\s+now\s+on)\b"
)
_SHOWN_SESSIONS = late_pattern(
    rf"\b{_DAY}\s+(?:(?:morning|afternoon|evening|night)\s+)?(?:\d{{1,2}}(?::\d\d)?\s?(?:[ap]\.?m\.?)?\s+)?(?:\w+\s+)?(?:sessions|check-ins|stand-ups|classes|meetings|shifts|lessons|calls|walks|dinners|lunches)\b"
)
_YEARLY = late_pattern(
    r"\b(?:annually|yearly|quarterly|every\s+(?:year|quarter)|each\s+(?:year|quarter))\b"
)

_ANY = late_pattern(
    r"day|week|month|year|quarter|morning|evening|night|daily|annual|mon|tue|wed|thu|fri|sat|sun|(?:every|each)\s|montag|mittwoch|tag|täglich|wöchentlich|monat|jahr"
    r"|jed|alle|lunes|martes|jueves|viernes|sábado|sabado|domingo|mi[eé]rcoles|cada|todo|semana|mente|ve(?:z|ces)|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|chaque|tou(?:s|tes) les|fois|hebdo|[每隔周週毎曜日平天]|星期|[回度]"
)


class Recurrence(NamedTuple):
    """Words that recur, with their position in the text."""

    start: int
    end: int


def find_recurrences(text: str, language: str, *, is_habit: bool) -> list[Recurrence]:
    """Find what recurs in a clause, in order.

    ``is_habit``: its clause is in the present tense and tells no single event, so that a list of
    weekdays is one of every week.
    """
    low = text.lower()
    if len(low) != len(text) or not _ANY.search(low):
        return []
    recurrences = [
        Recurrence(match.start(), match.end()) for match in _iterate(low, text, language)
    ]
    if language == "en":
        recurrences += [Recurrence(*match.span()) for match in _SHOWN_SESSIONS.finditer(low)]
    if language == "en" and is_habit and _PLURAL.search(low):
        recurrences += [Recurrence(*match.span()) for match in _WEEKDAY.finditer(low)]
    if language != "en" and is_habit and not _OTHER_STAY.search(low):
        recurrences += [
            Recurrence(*match.span())
            for match in _OTHER_LIST.finditer(low)
            if not tells_rearrangement(low[: match.start()])
        ]
    if language == "en" and (is_habit or recurrences):
        recurrences += [
            Recurrence(match.start(), match.end())
            for pattern in (_WEEKDAY_LIST, _HABIT_DAY)
            for match in pattern.finditer(low)
            if not _STAYS.search(low, 0, match.start())
        ]
        if _USUAL.search(low):
            recurrences += [Recurrence(*match.span()) for match in _WEEKDAY.finditer(low)]
    return _merge([recurrence for recurrence in recurrences if not is_left_out(low, *recurrence)])


def names_yearly(text: str) -> bool:
    """True if the text says that its days come every year or every quarter."""
    return _YEARLY.search(text.lower()) is not None


def _iterate(low: str, text: str, language: str) -> Iterator[re.Match[str]]:
    if language == "en":
        yield from _ENGLISH.finditer(low)
        yield from _SHORT_LIST.finditer(text)
        return
    table = load_language(language)
    if table is not None:
        yield from table.outlook["habit"].finditer(low)


def _merge(recurrences: list[Recurrence]) -> list[Recurrence]:
    merged: list[Recurrence] = []
    for recurrence in sorted(recurrences):
        if merged and recurrence.start <= merged[-1].end:
            merged[-1] = Recurrence(merged[-1].start, max(merged[-1].end, recurrence.end))
        else:
            merged.append(recurrence)
    return merged
