"""Grammar of German times."""

from __future__ import annotations

from engrams.text.times import numeric_dates
from engrams.text.times.grammar import (
    DatePart,
    Piece,
    Rule,
    TimeRuleMatch,
    any_of,
    compile_grammar,
    word_set,
)
from engrams.text.times.lexicon import load_lexicon

DE = load_lexicon("german")
_FUTURE = (
    r"\b(?:werde|wirst|wird|werden|werdet|wurde\s+gern|plane|plant|planen|kommt|kommen|komme|fahre|fahren|fliege|fliegen|beginnt|startet"
    r"|bald)\b"
)
_STRONG = word_set(
    "in im seit bis ab nach vor von jahr jahre jahres um anfang mitte ende sommer winter herbst"
    " fruhling fruhjahr"
)


_N = rf"(?P<n>\d{{1,4}}|{any_of(DE.numbers)})"
_NV = rf"(?:(?P<v>{any_of(DE.vague)})|{_N})"
_U = rf"(?P<u>{any_of(DE.units)})\b"
_MON = rf"(?P<m>{any_of(DE.months)})\b\.?"
_FULL = any_of(month for month in DE.months if len(month) > 3 or month == "mai")
_W = rf"(?P<w>{any_of(DE.leans)})\s+"
_Y = r"(?P<y>\d{4})(?![\w%:])"
_E = r"(?P<e>anfang|mitte|ende)"
_PART = "|".join(DE.hours)


def _on_part(m: TimeRuleMatch) -> Piece | None:
    """Read "morgen" alone as tomorrow, after an article as morning."""
    before = m.word_before(m.start())
    if m[0] != "morgen" or before in ("heute", "gestern"):
        return DE.on_time(m)
    if before in (
        "guten",
        "jeden",
        "diesen",
        "der",
        "den",
        "einen",
        "schonen",
        "eines",
        "zum",
        "ein",
        "des",
    ):
        return None
    return DatePart("unit", m.start(), m.end(), unit="day", offset=1)


def _on_day_of_month(m: TimeRuleMatch) -> Piece | None:
    """Read "am 27. im Klinikum"; a noun after the number is what it counts: "am 3. Spieltag"."""
    is_counted = m.word_after(m.end()) and m.is_capital(m.end() + 1)
    return None if is_counted else DatePart("dom", m.start("d"), m.end(), day=int(m["d"]))


def _on_days_of_month(m: TimeRuleMatch) -> Piece | None:
    """Read "vom 3. bis 7."; not the noun that is counted: "vom 3. bis 7. Semester"."""
    is_counted = m.word_after(m.end()) and m.is_capital(m.end() + 1)
    return None if is_counted else DE.on_days_of_month(m)


def _on_numeric(m: TimeRuleMatch) -> Piece | None:
    return DatePart("date", m.start(), m.end(), month=int(m["m"]), day=int(m["d"]))


def _on_month(m: TimeRuleMatch) -> Piece | None:
    """Read a bare month only after a preposition that times take."""
    before = m.word_before(m.start())
    after = (
        "im",
        "seit",
        "bis",
        "ab",
        "vor",
        "nach",
        "anfang",
        "mitte",
        "ende",
        "zum",
        "zwischen",
        "und",
        "von",
        "monat",
    )
    return DE.on_month(m) if m["y"] or (before in after and len(m["m"]) > 2) else None


def _on_weekday(m: TimeRuleMatch) -> Piece | None:
    return (
        None
        if m.word_before(m.start()) in ("jeden", "jedem", "einen", "einem", "ein", "jeder")
        else DE.on_weekday(m)
    )


def _on_holiday(m: TimeRuleMatch) -> Piece | None:
    return (
        None
        if m.word_before(m.start()) in ("frohe", "schone", "jedes", "jede")
        else DE.on_holiday(m)
    )


_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=False),
    (
        rf"(?P<d>heute|(?<!guten\s)(?<!den\s)morgen|ubermorgen|{any_of(DE.weekdays)})\s+in\s+(?:(?P<k>acht|vierzehn|8|14)\s+tagen|{_N}\s+(?P<u>wochen?))\b",
        DE.on_moved_day,
    ),
    (rf"(?P<d>heute|gestern)\s+(?P<b>vor)\s+{_N}\s+{_U}", DE.on_moved_day),
    (rf"(?:{any_of(DE.plain)})\b", DE.on_plain),
    (
        rf"(?:vor)\s+(?:etwa\s+|ungefahr\s+|rund\s+|uber\s+|fast\s+)?{_NV}\s+(?P<u>{any_of(DE.units)})\b",
        DE.on_ago,
    ),
    (
        rf"(?P<f>in)\s+(?:etwa\s+)?{_NV}\s+(?P<u>{any_of(DE.units)})\b(?!\s+(?:gelernt|gelesen|geschafft|fertig))",
        DE.on_ago,
    ),
    (
        r"(?:vor\s+kurzem|kurzlich|neulich|in\s+letzter\s+zeit|in\s+den\s+letzten\s+tagen)\b",
        DE.on_lately,
    ),
    (rf"(?:(?:in\s+den|die|der|den)\s+)?{_W}(?:{_NV})\s+{_U}", DE.on_stretch),
    (
        rf"(?:in\s+den|wahrend\s+der)\s+{_W}(?P<u>monaten|wochen|jahren|jahre|tage|wochen|monate)\b",
        DE.on_lately,
    ),
    (rf"seit\s+{_NV}\s+{_U}", DE.on_stretch),
    (
        rf"{_E}\s+(?:der|des|dieses|dieser)\s+(?P<u>woche|monats|jahres|quartals|jahrzehnts|wochenendes|sommers|winters)\b",
        DE.on_edge_unit,
    ),
    (
        rf"(?P<o>{any_of(DE.ordinals)}|letzten?)\s+(?P<u>{any_of(DE.weekdays)}|wochenende)\s+(?:im|des|vom)\s+(?=(?:{_FULL}|monats?|(?:{any_of(DE.leans)})\s+monats?)\b)",
        DE.on_nth,
    ),
    (
        rf"{_W}(?P<u>{any_of(DE.units)}|{any_of(DE.weekdays)}|{any_of(DE.seasons)}|{_FULL}|{any_of(DE.holidays)}|{_PART})\b",
        DE.on_rel,
    ),
    (r"(?:am\s+|ubers\s+|uber\s+das\s+)(?P<u>wochenende)\b", DE.on_weekend),
    (
        rf"(?:(?P<d0>\d{{1,2}})\.?\s*(?:-|–|bis|bis\s+zum|und)\s*(?:dem\s+)?)?(?P<d>\d{{1,2}}|ersten|zweiten|dritten)\.?\s+{_MON}(?:\s+{_Y})?(?!\w)",
        DE.on_date,
    ),
    (
        r"vo[mn]\s+(?P<d0>\d{1,2})\.?\s*(?:-|–|bis)\s*(?:zum\s+)?(?P<d>\d{1,2})\.(?!\s?\d)",
        _on_days_of_month,
    ),
    (r"(?<=am\s)(?P<d>\d{1,2})\.(?P<m>(?:0?[1-9]|1[0-2]))\.(?![\d])", _on_numeric),
    (
        r"(?:am|zum|vom|ab\s+dem|bis\s+zum|seit\s+dem|fur\s+den|auf\s+den)\s+(?P<d>[12]\d|3[01]|[1-9])\.(?!\s?\d|\s*(?:-|–|bis|und)\s*(?:zum\s+)?\d)",
        _on_day_of_month,
    ),
    (rf"{_MON}\s+{_Y}", _on_month),
    (rf"(?P<m>{_FULL})\b", _on_month),
    (
        rf"(?:im\s+)?(?:q(?P<q>[1-4])|(?P<o>ersten|zweiten|dritten|vierten)\s+quartal)(?:\s+{_Y})?(?!\w)",
        DE.on_quarter,
    ),
    (rf"(?P<d>{any_of(DE.weekdays)})\s?(?P<h>{_PART})?(?!\w)", _on_weekday),
    (rf"(?P<u>{any_of(DE.holidays)})\b", _on_holiday),
    (
        rf"(?:im|seit\s+dem|bis\s+zum|vor\s+dem|nach\s+dem|ab)\s+(?P<s>{any_of(DE.seasons)})\b",
        DE.on_season,
    ),
    (rf"(?P<s>{any_of(DE.seasons)})(?=\s+(?:19|20)\d\d\b)", DE.on_season),
    (
        r"(?:die|den|der)\s+(?P<y>(?:(?:19|20)\d0|[3-9]0))er(?:n|\s+jahre|\s+jahren)?\b",
        numeric_dates.on_decade,
    ),
    (r"(?:um|gegen)\s+(?P<h>\d{1,2})(?:[:.](?P<n>\d\d))?(?:\s+uhr\b)?(?!\w)", DE.on_time),
    (rf"(?:am\s+)?(?P<u>{_PART})\b", _on_part),
    (rf"{_E}\s+", DE.on_edge),
    (
        rf"{_N}?\s*(?P<u>tage?|wochen?|monate?|jahre?|nacht|abend)\s+(?:vor|(?P<f>nach))\s+(?:dem\s+|der\s+)?",
        DE.on_shift,
    ),
    (rf"(?P<b>{any_of(DE.bounds)})\s", DE.on_bound),
    numeric_dates.year_rule(_STRONG),
)

GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*,?\s*(?:im|am|den|dem|der|in|um|,)?\s*(?:der\s+|dem\s+|den\s+)?",
    links=(r"\s*(?:-|–|—|bis(?:\s+zum)?)\s*", r"\s*,?\s*(?:und|bis|-|–)\s*(?:dem\s+)?"),
    touch=r"\s*(?:im\s+|in\s+|am\s+|des\s+|der\s+|dem\s+|den\s+)?(?:jahr\s+|jahre\s+)?",
    future=_FUTURE,
    clause=r",\s|\s(?:aber|und\s+(?:wir|ich|dann))\s",
    tenses=(
        r"\b(?:ist|bin|sind|hat|habe|haben|bleibt|gilt)\b",
        r"\b(?:war|waren|hatte|hatten|ging|wohnte)\b",
    ),
)
