"""Exclude English words that only look like times: "may I"."""

from __future__ import annotations

import re

from engrams.text.times.grammar import (
    DatePart,
    Piece,
    TimeModifier,
    TimeRuleMatch,
    phrase_key,
    word_set,
)
from engrams.text.times.lexicon import load_lexicon
from engrams.text.times.numeric_dates import full_year

ENGLISH = load_lexicon("english")

STRONG = word_set(
    "in since until till til by before after during of around circa from to early late mid year"
    " summer spring fall autumn winter"
)
FUTURE = (
    r"\b(?:will|shall|won't|gonna|going\s+to|upcoming|plan(?:s|ned|ning)?|scheduled|due|deadline|looking\s+forward|can'?t\s+wait|see\s+you"
    r"|turns?\s+\d+|starts?|begins?|leaves?|arrives?|coming\s+up|hop(?:e|ing)\s+to|intend|expect(?:ed|ing)?|book(?:ed|ing)|soon|remind"
    r"|(?:am|are|is)\s+\w+ing)\b|'(?:ll|m\s+\w+ing|re\s+\w+ing)\b"
)
_FUTURE = re.compile(FUTURE)
_VERBS = ("may", "march")
_NAMES = word_set("april may june march august jan feb mar apr jun jul aug sept sep oct nov dec")
_MONTH_AFTER = word_set(
    "in since until till til by before after during early late mid between of through around next"
    " last this back throughout starting beginning"
)
_SHORT_DAY_AFTER = word_set("on by until till since next last this from before after")
_HABIT = word_set("every each any a another most some many alternate per")
_RATED = word_set(
    "once twice thrice times time days hours hour nights minutes mornings evenings shifts sessions"
    " classes lessons calls meetings miles euros dollars pounds bucks quid"
)
_NOT_DAY = word_set("black good cyber ruby ash palm fat shrove super casual freaky throwback")
_DAY_THING = word_set("addams school roast times service")
_DOM_NEXT = word_set(
    "and at for we i he she they it with in to but so because there was is will of by or until"
    " through when from this last next if as arrives starts begins comes goes has was are were had after before"
)
_STOP = re.compile(r"[.!?;\n]")
_OF_MONTH = re.compile(r"\s+of\s+(?:last|this|next)\s+month")
_WORD_NEXT = re.compile(r"\s+[^\W\d_]")
_DOM_AFTER = word_set("on by until till since before after from around and to between")
_YEAR_NEXT = re.compile(r",?\s+(?:of\s+)?(?:(?:19|20)\d\d|'\d\d|(?:last|this|next)\s+year)\b")
_VERB_NEXT = word_set("on of for to with through against be have not")


def _leading_word(m: TimeRuleMatch, at: int) -> str:
    """Return the word before ``at``, skipping an article."""
    word = m.word_before(at)
    return m.word_before(m.low.rindex("the", 0, at)) if word == "the" else word


def on_ago(m: TimeRuleMatch) -> Piece | None:
    """Read compounds too: "a year and a half ago"."""
    part = ENGLISH.on_ago(m)
    if not isinstance(part, DatePart) or not (m["half"] or m["u2"]) or part.offset is None:
        return part
    sign = 1 if part.offset > 0 else -1
    count = abs(part.offset)
    extra = ENGLISH.parse_number(m["n2"]) if m["u2"] else None
    smaller = {
        "year": ("month", 12, 6),
        "month": ("week", 4, 2),
        "week": ("day", 7, 3),
        "day": ("hour", 24, 12),
        "hour": ("minute", 60, 30),
    }
    if part.unit not in smaller:
        return None
    unit, size, half = smaller[part.unit]
    if extra is not None and ENGLISH.units[m["u2"]] != unit:
        return DatePart("unit", m.start(), m.end(), unit=part.unit, offset=part.offset)
    return DatePart(
        "unit",
        m.start(),
        m.end(),
        unit=unit,
        offset=sign * (count * size + (half if extra is None else extra)),
    )


def on_half_ago(m: TimeRuleMatch) -> Piece | None:
    halves = {
        "year": ("month", 6),
        "hour": ("minute", 30),
        "decade": ("year", 5),
        "month": ("week", 2),
        "century": ("year", 50),
    }
    unit, count = halves[m["u"]]
    return DatePart("unit", m.start(), m.end(), unit=unit, offset=-count)


def on_in_units(m: TimeRuleMatch) -> Piece | None:
    """Read "in two weeks" only if the sentence looks ahead."""
    return ENGLISH.on_ago(m) if m["t"] or _looks_ahead(m) else None


def _looks_ahead(m: TimeRuleMatch) -> bool:
    low = m.low
    first = max(0, m.start() - 80)
    start = max(low.rfind(stop, first, m.start()) for stop in ".!?;\n")
    stop = _STOP.search(low, m.end(), m.end() + 80)
    return (
        _FUTURE.search(low, max(start, first), stop.start() if stop else m.end() + 80) is not None
    )


def on_recent(m: TimeRuleMatch) -> Piece | None:
    unit = ENGLISH.units[m["u"]]
    count = {"day": 7, "week": 5, "month": 4, "year": 5}[unit]
    return DatePart("stretch", m.start(), m.end(), unit=unit, offset=-1, count=(count, count))


def on_other_day(m: TimeRuleMatch) -> Piece | None:
    unit = ENGLISH.units[m["u"]]
    return DatePart(
        "about", m.start(), m.end(), unit=unit, offset=-1, count=(1, 7 if unit == "day" else 3)
    )


def on_rel(m: TimeRuleMatch) -> Piece | None:
    unit_word = phrase_key(m["u"])
    at = m.start("u")
    lean = ENGLISH.leans[phrase_key(m["w"])]
    if (
        unit_word in _VERBS
        and not m.is_capital(at)
        and (lean == 0 or m.word_before(m.start()) == "the")
    ):
        return None
    if unit_word in ("sun", "sat", "wed", "mon", "mar", "dec") and not m.is_capital(at):
        return None
    if unit_word in ("night", "evening") and lean > 0:
        return None
    return ENGLISH.on_rel(m)


def on_week_on(m: TimeRuleMatch) -> Piece | None:
    """Read "a week on Tuesday" and "two weeks today"; not how often: "twice a week on Tuesday"."""
    is_rate = not m["f"] and m.word_before(m.start()) in _RATED
    return None if is_rate else ENGLISH.on_moved_day(m)


def on_within(m: TimeRuleMatch) -> Piece | None:
    """Read "the week of 3 June"; not "30 hours per week starting January"."""
    is_rate = m.word_before(m.start()) in ("per", "a", "each", "every")
    return None if is_rate else ENGLISH.on_within(m)


def on_before_last(m: TimeRuleMatch) -> Piece | None:
    """Read "the week before last" and "the Friday after next"."""
    sign = 1 if m["f"] else -1
    unit_word = m["u"]
    if unit_word in ENGLISH.weekdays:
        return DatePart(
            "weekday",
            m.start(),
            m.end(),
            index=ENGLISH.weekdays[unit_word],
            lean=sign,
            count=(2, 2),
        )
    if unit_word in ENGLISH.seasons:
        return DatePart(
            "season", m.start(), m.end(), index=ENGLISH.seasons[unit_word], lean=sign, count=(2, 2)
        )
    return DatePart(
        "unit",
        m.start(),
        m.end(),
        unit=ENGLISH.units[unit_word],
        offset=2 * sign,
        hours=(1080, 1800) if unit_word == "night" else None,
    )


def on_month(m: TimeRuleMatch) -> Piece | None:
    """Read a bare month, unless it is a word such as "may".

    Names that are also people or verbs need a capital and a preposition before them.
    """
    name = m["m"]
    at = m.start()
    if name in _NAMES:
        before = m.word_before(at)
        capital = m.is_capital(at)
        linked = before in ("and", "to") and re.search(
            r"\b(?:between|from)\b", m.low[max(0, at - 30) : at]
        )
        if not (before in _MONTH_AFTER or linked or (capital and _YEAR_NEXT.match(m.low, m.end()))):
            return None
        if not capital and (
            name not in ("april", "may", "june", "march", "august")
            or before in ("this", "of", "back", "around", "to")
        ):
            return None
        if not capital and name in _VERBS and m.word_after(m.end()) in _VERB_NEXT:
            return None
    return ENGLISH.on_month(m)


def on_day_month(m: TimeRuleMatch) -> Piece | None:
    """Read "3 May"; not "of those, 3 may be wrong"."""
    plain = m["m"] in _VERBS and not m.is_capital(m.start("m")) and not m["y"] and not m["s"]
    return None if plain else ENGLISH.on_date(m)


def on_month_day(m: TimeRuleMatch) -> Piece | None:
    plain = (
        m["m"] in ("may", "march", "mar", "jun", "dec", "sep")
        and not m.is_capital(m.start("m"))
        and not (m["s"] or m["y"])
    )
    return (
        None
        if plain and m.word_before(m.start()) not in ("on", "by", "since", "until", "of")
        else ENGLISH.on_date(m)
    )


def on_month_year(m: TimeRuleMatch) -> Piece | None:
    return DatePart(
        "month", m.start(), m.end(), month=ENGLISH.months[m["m"]], year=full_year(m["y"])
    )


def on_weekday(m: TimeRuleMatch) -> Piece | None:
    before = m.word_before(m.start())
    name = m["d"]
    end = m.end()
    if (
        before in _HABIT
        or before in _NOT_DAY
        or m.word_after(end) in _DAY_THING
        or m.low.startswith(" night live", end)
    ):
        return None
    dated = re.match(r"\.?,?\s+\S*\d", m.text[end : end + 8])
    if len(name) < 6 and not (m.is_capital(m.start()) and (before in _SHORT_DAY_AFTER or dated)):
        return None
    return ENGLISH.on_weekday(m)


def on_season(m: TimeRuleMatch) -> Piece | None:
    """Read a season only with a preposition or year."""
    return (
        ENGLISH.on_season(m)
        if m["p"]
        or _YEAR_NEXT.match(m.low, m.end())
        or _leading_word(m, m.start("s")) in STRONG - {"by"}
        else None
    )


def on_quarter(m: TimeRuleMatch) -> Piece | None:
    is_named = (
        m["o"]
        or m["y"]
        or (
            m.is_capital(m.start())
            and m.word_before(m.start()) in STRONG | {"this", "last", "next"}
        )
    )
    return ENGLISH.on_quarter(m) if is_named else None


def on_dom(m: TimeRuleMatch) -> Piece | None:
    """Read "on the 3rd"; not "on the 3rd floor"."""
    if _leading_word(m, m.start("d")) not in _DOM_AFTER and not _OF_MONTH.match(m.low, m.end()):
        return None
    follows = _WORD_NEXT.match(m.low, m.end())
    return (
        None
        if follows and m.word_after(m.end()) not in _DOM_NEXT
        else DatePart("dom", m.start("d"), m.end(), day=int(m["d"]))
    )


def on_nth(m: TimeRuleMatch) -> Piece | None:
    """Read "the last week of"; alone it means last week."""
    mod = ENGLISH.on_nth(m)
    if not isinstance(mod, TimeModifier) or m["o"] != "last" or mod.unit == "day":
        return mod
    lone = DatePart(
        "weekday" if mod.index >= 0 else "unit",
        m.start("o"),
        m.end("u"),
        index=max(0, mod.index),
        unit=mod.unit,
        offset=-1,
        lean=-1,
    )
    return TimeModifier(
        "nth", mod.at, mod.end, unit=mod.unit, index=mod.index, count=mod.count, instead=lone
    )


def on_half(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(
        "nth", m.start(), m.end(), unit="half", count=0 if m["o"] in ("first", "1st") else -1
    )


def on_decade_word(m: TimeRuleMatch) -> Piece | None:
    from engrams.text.times.calendar_math import decade_span

    tens = ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
    return DatePart("fixed", m.start(), m.end(), span=decade_span(1930 + 10 * tens.index(m["u"])))
