"""Grammar of French times."""

from __future__ import annotations

import re

from engrams.text.times import numeric_dates
from engrams.text.times.grammar import (
    DatePart,
    Piece,
    Rule,
    TimeModifier,
    TimeRuleMatch,
    any_of,
    compile_grammar,
    word_set,
)
from engrams.text.times.lexicon import load_lexicon

FR = load_lexicon("french")
_FUTURE = (
    r"\b(?:vais|vas|va|allons|allez|vont)\s+\w+(?:er|ir|re|oir)\b|\b(?:sera|serons|serai|seront|aura|aurai|irai|irons|ferons|ferai|partirons"
    r"|prochain|prochaine|commence|prevu|prevue|bientot)\b"
)
_STRONG = word_set(
    "en depuis jusqu avant apres des annee annees an de ete hiver automne printemps entre fin debut"
    " vers"
)


_BEFORE_MONTH = word_set(
    "en depuis avant apres debut fin mi de a entre et mois des jusqu au du pour d"
)
"""Folded words that stand before a month."""
_DATED = re.compile(r"\s+(?:\d|dernier|prochain|matin|soir)")


_N = rf"(?P<n>\d{{1,4}}|{any_of(FR.numbers)})"
_NV = rf"(?:(?P<v>{any_of(FR.vague)})|{_N})"
_U = rf"(?P<u>{any_of(FR.units)})\b"
_MON = rf"(?P<m>{any_of(FR.months)})\b\.?"
_Y = r"(?P<y>\d{4})(?![\w%:])"
_GREAT = "week-?end|semaine|mois|trimestre|annee|an|decennie|siecle"
_THING = rf"(?P<u>{_GREAT}|{any_of(FR.weekdays)}|{any_of(FR.months)}|{any_of(FR.seasons)}|{any_of(FR.holidays)}|nuit)"
_E = r"(?P<e>au\s+debut|debut|mi|au\s+milieu|milieu|a\s+la\s+fin|la\s+fin|fin)(?:\s+|-)(?:de\s+la\s+|de\s+l'|du\s+|de\s+|d')?"
_DAY = r"\d{1,2}|1er|premier"


def _on_month(m: TimeRuleMatch) -> Piece | None:
    """Read a month with a year, or after one of ``_BEFORE_MONTH``: "mars" alone may be the planet."""
    is_month = m["y"] or m.word_before(m.start()) in _BEFORE_MONTH
    return FR.on_month(m) if is_month else None


def _on_weekday(m: TimeRuleMatch) -> Piece | None:
    """Skip habits ("le mardi", "chaque mardi") unless a date follows."""
    before = m.word_before(m.start())
    habit = before in ("chaque", "un", "les") or (
        before == "le" and not _DATED.match(m.low, m.end())
    )
    return None if habit else FR.on_weekday(m)


def _on_holiday(m: TimeRuleMatch) -> Piece | None:
    return None if m.word_before(m.start()) in ("joyeux", "pere", "bonne") else FR.on_holiday(m)


def _on_day_of_month(m: TimeRuleMatch) -> Piece | None:
    return DatePart("dom", m.start(), m.end(), day=1 if m["d"] == "1er" else int(m["d"]))


def _on_eve(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier("shift", m.start(), m.end(), unit="day", count=1 if m["f"] else -1)


_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=False),
    (
        rf"(?P<d>aujourd'hui|demain|{any_of(FR.weekdays)})\s+en\s+(?P<k>huit|quinze)(?!\s+(?:minutes|heures|ans|mois|secondes)\b)(?!\w)",
        FR.on_moved_day,
    ),
    (rf"(?:{any_of(FR.plain)})\b", FR.on_plain),
    (
        rf"il\s+y\s+a\s+(?:environ\s+|presque\s+|plus\s+de\s+|a\s+peu\s+pres\s+)?{_NV}\s+{_U}",
        FR.on_ago,
    ),
    (rf"(?P<f>dans|d'ici)\s+{_NV}\s+{_U}", FR.on_ago),
    (r"(?:recemment|dernierement|ces\s+derniers\s+temps|ces\s+temps-ci)\b", FR.on_lately),
    (r"(?:ces|les)\s+derniers\s+jours\b", FR.on_days),
    (
        rf"(?:les|ces|des|aux?)\s+(?:{_NV}\s+)?(?P<w>derniers|dernieres|prochains|prochaines)\s+{_U}",
        FR.on_stretch,
    ),
    (
        rf"(?:les|ces|des)\s+(?P<w>derniers|dernieres|prochains|prochaines)\s+{_NV}\s+{_U}",
        FR.on_stretch,
    ),
    (rf"depuis\s+{_NV}\s+{_U}", FR.on_stretch),
    (
        r"(?P<e>debut|fin|au\s+debut|a\s+la\s+fin|la\s+fin)\s+(?:de\s+la\s+|de\s+l'|du\s+)(?P<u>semaine|mois|annee|trimestre)\b(?!\s+(?:derni|proch|pass))",
        FR.on_edge_unit,
    ),
    (rf"(?:le\s+|la\s+|l')?{_THING}\s+(?P<w>derniere?|passee?|prochaine?)\b", FR.on_rel),
    (rf"(?P<w>ce|cet|cette)\s+{_THING}\b", FR.on_rel),
    (r"(?:le|du|au)\s+(?P<u>week-?end)\b", FR.on_weekend),
    (
        rf"(?:(?:le|du)\s+)?(?:(?P<d0>{_DAY})\s*(?:-|–|au|et|a)\s*(?:le\s+)?)?(?P<d>{_DAY})\s+{_MON}(?:\s+{_Y})?(?!\w)",
        FR.on_date,
    ),
    (
        rf"du\s+(?P<d0>{_DAY})\s+au\s+(?P<d>{_DAY})(?![\w%]|[.,:/-]\d|\s+(?:de|rue|avenue)\b|\s?[%€$])",
        FR.on_days_of_month,
    ),
    (
        rf"(?:le\s+)?(?P<o>{any_of(FR.ordinals)}|dernier)\s+(?P<u>{any_of(FR.weekdays)}|week-?end)\s+(?:de\s+|du\s+|d')(?=(?:{any_of(FR.months)}|mois)\b)",
        FR.on_nth,
    ),
    (
        r"(?:le|au|du)\s+(?P<d>[12]\d|3[01]|1er|[1-9])(?=\s*(?:[.;!?)]|,\s|\Z)|\s+(?:a|au|avec|et|dans|pour|chez|je|on|nous|il|elle)\b|\s+j')",
        _on_day_of_month,
    ),
    (rf"{_MON}\s+{_Y}", _on_month),
    (
        rf"(?P<m>{any_of(month for month in FR.months if month[-2:] not in ('nv', 'vr'))})\b",
        _on_month,
    ),
    (
        rf"(?:le\s+|au\s+)?(?:t(?P<q>[1-4])|(?P<o>premier|1er|deuxieme|2e|troisieme|3e|quatrieme|4e)\s+trimestre)(?:\s+(?:de\s+)?{_Y})?(?!\w)",
        FR.on_quarter,
    ),
    (rf"(?P<d>{any_of(FR.weekdays)})\b", _on_weekday),
    (rf"(?P<u>{any_of(FR.holidays)})\b", _on_holiday),
    (r"(?:la\s+veille|(?P<f>le\s+lendemain))\s+(?:de|du|d')\s*", _on_eve),
    (
        rf"(?:(?:en|pendant|durant)\s+|au\s+(?=printemps)|(?:pendant\s+|durant\s+)?l'|cet\s+)(?P<s>{any_of(FR.seasons)})\b",
        FR.on_season,
    ),
    (rf"(?P<s>{any_of(FR.seasons)})(?=\s+(?:de\s+)?(?:19|20)\d\d\b)", FR.on_season),
    (r"(?:les\s+)?annees\s+(?P<y>(?:19|20)\d0|[3-9]0)\b", numeric_dates.on_decade),
    (r"(?:a|vers)\s+(?P<h>\d{1,2})\s?(?:h(?P<n>\d\d)?|heures?|:(?=\d))(?!\w)", FR.on_time),
    (rf"(?:dans\s+la\s+|le\s+|au\s+|du\s+)?(?P<u>{any_of(FR.hours)})\b", FR.on_time),
    (
        rf"{_N}\s+(?P<u>jours?|semaines?|mois|ans?)\s+(?:avant|(?P<f>apres))\s+(?:le\s+|la\s+)?",
        FR.on_shift,
    ),
    (r"(?:la\s+)(?P<u>semaine)\s+du\s+", FR.on_within),
    (_E, FR.on_edge),
    (rf"(?P<b>{any_of(FR.bounds)})(?:\s|(?<=')|(?=\s))", FR.on_bound),
    numeric_dates.year_rule(_STRONG),
)

GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*,?\s*(?:de|du|en|a|,)?\s*(?:l'|le\s+|la\s+)?",
    links=(
        r"\s*(?:-|–|—|a|au|jusqu'a|jusqu'en|jusqu'au)\s*(?:le\s+)?",
        r"\s*,?\s*(?:et|-|–)\s*(?:le\s+)?",
    ),
    touch=r"\s*(?:en\s+)?(?:le\s+|la\s+|l')?(?:annee\s+)?",
    future=_FUTURE,
    clause=r",\s|\s(?:mais|et\s+puis)\s",
    tenses=(
        r"\b(?:est|suis|sommes|reste|ai|avons)\b",
        r"\b(?:etait|etais|avait|habitait|travaillait)\b",
    ),
)
