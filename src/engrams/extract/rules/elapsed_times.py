"""Ages and durations, from which a birth or a beginning follows: "is 6", "for four years".

Enter it by ``find_elapsed_times``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, time, timedelta

from engrams.core import ResolvedTime
from engrams.text.late_patterns import late_pattern

_WORDS = {
    word: number
    for words, number in (
        ("a an one ein eine einem einer un una une 一", 1),
        ("two zwei dos deux 二 两 兩", 2),
        ("three drei tres trois 三", 3),
        ("four vier cuatro quatre 四", 4),
        ("five fünf cinco cinq 五", 5),
        ("six sechs seis 六", 6),
        ("seven sieben siete sept 七", 7),
        ("eight acht ocho huit 八", 8),
        ("nine neun nueve neuf 九", 9),
        ("ten zehn diez dix 十", 10),
        ("eleven elf once onze 十一", 11),
        ("twelve zwölf doce douze 十二", 12),
        ("fifteen fünfzehn quince quinze 十五", 15),
        ("twenty zwanzig veinte vingt 二十", 20),
        ("thirty dreißig treinta trente 三十", 30),
        ("forty vierzig cuarenta quarante 四十", 40),
        ("fifty fünfzig cincuenta cinquante 五十", 50),
    )
    for word in words.split()
}
_NUMBER = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
_UNIT = (
    r"(?P<u>years?|yrs?|months?|weeks?|days?|decades?|jahren?|monaten?|wochen?|tagen?|tage|años?|meses|mes|semanas?|días?"
    r"|ans?|années?|mois|semaines?|jours?|年|个月|個月|か月|ヶ月|カ月|周|週間|天|日)"
)
_AGE = late_pattern(
    rf"\b{_NUMBER}(?:[\s-]+(?P<u>years?|yrs?|months?|weeks?))[\s-]+old\b|\b(?P<n2>\d{{1,3}})[\s-]?(?:yo|y/o)\b"
    r"|\b(?P<n3>\d{1,3})\s+jahre\s+alt\b|\b(?:tengo|tiene|tienen|cumple)\s+(?P<n4>\d{1,3})\s+años\b"
    r"|(?:\bj'ai|\b(?:a|ont))\s+(?P<n5>\d{1,3})\s+ans\b|(?P<n6>\d{1,3}|[一二两三四五六七八九十]{1,3})\s?[岁歲歳](?!月)"
)
_BARE_AGE = re.compile(
    r"(?P<who>\b(?:I'm|I am|[Hh]e's|[Ss]he's|[Hh]e is|[Ss]he is|[A-ZÄÖÜ][\wäöüßé]+(?:'s| is| ist| est)"
    r"|(?:son|daughter|sister|brother|mother|mum|mom|father|dad"
    r"|kid|nephew|niece|wife|husband|grandson|granddaughter|grandma|grandpa|granny|grandmother|grandfather"
    r"|aunt|uncle|cousin|niece|partner|boyfriend|girlfriend|boy|girl|baby|child|dog|cat|youngest|oldest|eldest)(?:'s| is)"
    r"|[Ii]ch bin|[Ee]r ist|[Ss]ie ist"
    r"|(?:Sohn|Tochter|Schwester|Bruder|Mutter|Vater|Mann|Frau|Hund|Katze) ist))\s+(?:already |now |jetzt |schon |only )?(?P<n>\d{1,2})\b"
    r"(?=\s*(?:[,;!?)]|\.(?!\d)|\Z)|\s+(?:now|and|but|und|already|today|jetzt|next|this)\b)"
)
_LISTED_AGE = re.compile(r"\b[A-ZÄÖÜ][\wäöüßéñ]+\s+\((?P<n>\d{1,2})\)")
_NO_PERSON = re.compile(
    r"(?i:\b(?:score|grade|size|number|room|flat|height|width|temperature|version|level|step|it|total|count|gate|python|node|java"
    r"|windows|line|chapter|page|week|day|part|phase|track|bus|route|apartment|unit|team))\W+\Z"
)
_PAST = late_pattern(
    r"\b(?:was|were|when|turn(?:s|ed|ing)?|until|till|by|war|waren|als|tenía|cuando|avait|avais|quand|for|will|if|at|age)\b[^.,;]{0,30}\Z"
    r"|(?:时候|时|的时候|那年)"
)
_FOR = late_pattern(
    rf"\bfor\s+(?:the\s+(?:past|last)\s+)?(?:about\s+|over\s+|almost\s+|nearly\s+|around\s+|more\s+than\s+|like\s+)?{_NUMBER}\s+{_UNIT}\b(?!\s+back)"
    rf"|\bseit\s+(?:etwa\s+|über\s+|fast\s+|rund\s+)?(?P<n2>\d{{1,3}}|\w+)\s+(?P<u2>jahren?|monaten?|wochen?|tagen)\b"
    rf"|\bdesde\s+hace\s+(?P<n3>\d{{1,3}}|\w+)\s+(?P<u3>años?|meses|mes|semanas?|días?)\b|\bllev(?:o|a|amos|an)\s+(?:ya\s+)?(?P<n4>\d{{1,3}}|\w+)\s+(?P<u4>años?|meses|mes|semanas?|días?)\b"
    rf"|\bdepuis\s+(?:environ\s+|plus\s+de\s+|presque\s+)?(?P<n5>\d{{1,3}}|\w+)\s+(?P<u5>ans?|années?|mois|semaines?|jours?)\b"
    r"|(?P<n6>\d{1,3}|[一二两三四五六七八九十]{1,3})(?P<u6>年|个月|個月|周|天)(?:多)?了|(?P<n7>\d{1,3})(?P<u7>年|か月|ヶ月|カ月|週間|日)(?:間|前から)"
)
_MAY_TELL_AGE = late_pattern(r"\d|\bold\b|[岁歲歳]")
_MAY_LAST = late_pattern(r"\bfor\b|\bseit\b|\bhace\b|\bllev|\bdepuis\b|了|間|前から")
_LASTS = late_pattern(
    r"(?:\bhave|\bhas|'ve|'s)\s+(?:\w+\s+){0,2}(?:been|lived|worked|known|had|owned|used|studied|played|done|taught|run|dated|kept|loved|wanted|taken|led|managed|coached|volunteered|suffered|smoked)\b"
)


def find_elapsed_times(text: str, said_at: datetime, tense: str) -> list[ResolvedTime]:
    """Find the days of birth or of a beginning that follow from an age or a duration in a clause.

    ``tense``: of the clause, such as ``perfect``. "For two weeks" tells a beginning only where it
    still goes on.
    """
    low = text.lower().replace("’", "'")
    # Some letters get longer in lower case ("İ"). Matches would then be cut at wrong places.
    if len(low) != len(text):
        return []
    births = _find_births(text.replace("’", "'"), low, said_at)
    return births + _find_starts(text, low, said_at, tense)


def _find_births(text: str, low: str, said_at: datetime) -> list[ResolvedTime]:
    if not _MAY_TELL_AGE.search(low):
        return []
    births: list[ResolvedTime] = []
    for match in [*_AGE.finditer(low), *_BARE_AGE.finditer(text), *_LISTED_AGE.finditer(text)]:
        is_told = _PAST.search(low[: match.start()]) or _NO_PERSON.search(text[: match.start()])
        number = _number_of(match)
        who = match.groupdict().get("who") or ""
        if is_told or number is None or not 0 < number < 120 or _NO_PERSON.search(f"{who[:-3]} "):
            continue
        unit = match.groupdict().get("u")
        birth = _make_birth(text[match.start() : match.end()], number, unit, said_at)
        births += [birth] if birth else []
    return births


def _make_birth(
    words: str, number: int, unit: str | None, said_at: datetime
) -> ResolvedTime | None:
    """Resolve the days on which someone of that age can have been born."""
    day = said_at.date()
    one_day = timedelta(days=1)
    try:
        if unit and unit.startswith("w"):
            earliest = day - timedelta(weeks=number + 1)
            latest = day - timedelta(weeks=number)
        else:
            months = 1 if unit and unit.startswith("m") else 12
            earliest = _back_months(day, (number + 1) * months)
            latest = _back_months(day, number * months)
    except (ValueError, OverflowError):  # before the first year of the calendar
        return None
    return ResolvedTime(
        text=words,
        start=_midnight(earliest + one_day, said_at),
        end=_midnight(latest + one_day, said_at),
        grain="range",
        sure=0.9,
        role="birth",
    )


def _find_starts(text: str, low: str, said_at: datetime, tense: str) -> list[ResolvedTime]:
    if not _MAY_LAST.search(low):
        return []
    starts = []
    for match in _FOR.finditer(low):
        if match["n"] and not (tense in ("perfect", "been") or _LASTS.search(low[: match.start()])):
            continue  # "for two weeks" of a plan, a stay that is over
        number = _number_of(match)
        unit = next(
            (value for key, value in match.groupdict().items() if key[0] == "u" and value), ""
        )
        if number is None or not unit:
            continue
        start = _begin(number, unit, said_at)
        if start is not None:
            starts.append(
                ResolvedTime(
                    text=text[match.start() : match.end()],
                    start=start,
                    end=None,
                    grain="range",
                    sure=0.7,
                    role="since",
                )
            )
    return starts


def _begin(number: int, unit: str, said_at: datetime) -> datetime | None:
    day = said_at.date()
    try:
        if unit[0] in "w周週s" or unit.startswith("semain"):
            return _midnight(day - timedelta(weeks=number), said_at)
        if unit.startswith(("day", "tag", "día", "jour", "天", "日")):
            return _midnight(day - timedelta(days=number), said_at)
        if unit.startswith(("mo", "me", "mois", "个", "個", "か", "ヶ", "カ")):
            return _midnight(_back_months(day, number), said_at)
        return _midnight(_back_months(day, number * (120 if unit[0] == "d" else 12)), said_at)
    except (ValueError, OverflowError):  # before the first year of the calendar
        return None


def _number_of(match: re.Match[str]) -> int | None:
    word = next((value for key, value in match.groupdict().items() if key[0] == "n" and value), "")
    return int(word) if word.isdecimal() else _WORDS.get(word)


def _back_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _midnight(day: date, said_at: datetime) -> datetime:
    return datetime.combine(day, time.min, tzinfo=said_at.tzinfo)
