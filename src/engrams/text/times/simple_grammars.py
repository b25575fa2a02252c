"""Grammars of simple times in Portuguese, Italian, Dutch, Russian, Korean."""

from __future__ import annotations

from dataclasses import dataclass

from engrams.text.times import numeric_dates
from engrams.text.times.grammar import (
    DatePart,
    Piece,
    Rule,
    TimeGrammar,
    TimeRuleMatch,
    any_of,
    compile_grammar,
    word_set,
)
from engrams.text.times.lexicon import load_lexicon

_YEAR = r"(?P<y>(?:19|20)\d\d)(?![\w%:])"


@dataclass(frozen=True, slots=True)
class TimeLinkingWords:
    """Patterns of the words around times.

    ``ago`` and ``ahead`` hold ``{}`` for "three weeks"; ``of`` joins day, month and year;
    ``inside`` precedes a month or season; ``each`` marks what recurs; ``future``: verbs that look
    ahead.
    """

    ago: tuple[str, ...]
    ahead: str
    of: str
    inside: str
    each: str
    future: str


_LINKS = {
    "portuguese": TimeLinkingWords(
        ago=(r"(?:ha|faz)\s+{}", r"{}\s+atras"),
        ahead=r"(?P<f>daqui\s+a|dentro\s+de)\s+{}",
        of=r"\s+(?:de\s+)?",
        inside=r"em|desde|ate|de|n[oa]",
        each="aos as cada toda todo todas todos",
        future=r"\b(?:vou|vai|vamos|vao|irei|sera)\b",
    ),
    "italian": TimeLinkingWords(
        ago=(r"{}\s+fa\b",),
        ahead=r"(?P<f>tra|fra)\s+{}",
        of=r"\s+(?:di\s+|del\s+)?",
        inside=r"a|ad|in|da|di|nel|dal|fino\s+a|entro|questo|questa",
        each="ogni il i tutti",
        future=r"\b(?:andro|andremo|faro|faremo|saro|sara|vado|andiamo|parto|partiamo|prossim[oa])\b",
    ),
    "dutch": TimeLinkingWords(
        ago=(r"{}\s+geleden",),
        ahead=r"(?P<f>over)\s+{}",
        of=r"\s+",
        inside=r"in|sinds|tot|van|vanaf|deze|dit|de",
        each="elke iedere",
        future=r"\b(?:ga|gaat|gaan|zal|zullen|word|wordt)\b",
    ),
    "russian": TimeLinkingWords(
        ago=(r"{}\s+назад",),
        ahead=r"(?P<f>через)\s+{}",
        of=r"\s+",
        inside=r"в|с|до|к|этой|этим",
        each="каждый каждую каждое",
        future=r"\b(?:буду|будет|будем|поеду|поедем|пойду|пойдем|планирую)\b",
    ),
}


def make_grammar(name: str) -> TimeGrammar:
    """Make the grammar of a language from its words."""
    return _make_korean() if name == "korean" else _make_spaced(name)


def _make_spaced(name: str) -> TimeGrammar:
    words = load_lexicon(name)
    links = _LINKS[name]
    number = rf"(?:(?P<v>{any_of(words.vague) or '(?!)'})|(?P<n>\d{{1,4}}|{any_of(words.numbers)}))"
    unit = rf"(?P<u>{any_of(words.units)})\b"
    month = rf"(?P<m>{any_of(words.months)})\b"
    day = any_of(words.weekdays)
    lean = rf"(?P<w>{any_of(words.leans)})"
    unit_or_day = (
        rf"(?P<u>{any_of((*words.units, *words.weekdays, *words.seasons, *words.months))})\b"
    )
    inside = rf"(?:{links.inside})"
    of = links.of
    habit_words = word_set(links.each)

    def on_weekday(m: TimeRuleMatch) -> Piece | None:
        return None if m.word_before(m.start()) in habit_words else words.on_weekday(m)

    date = rf"(?P<d>\d{{1,2}}){of}{month}(?:{of}{_YEAR})?"
    rules: tuple[Rule, ...] = (
        *numeric_dates.digit_rules(month_first=False),
        (rf"(?:{any_of(words.plain)})\b", words.on_plain),
        *((pattern.replace("{}", rf"{number}\s+{unit}"), words.on_ago) for pattern in links.ago),
        (links.ahead.replace("{}", rf"{number}\s+{unit}"), words.on_ago),
        (date, words.on_date),
        (rf"{lean}\s+{unit_or_day}", words.on_rel),
        (rf"{unit_or_day}\s+{lean}\b", words.on_rel),
        (rf"{month}{of}{_YEAR}", words.on_month),
        (rf"{inside}\s+{month}(?:{of}{_YEAR})?", words.on_month),
        (rf"(?P<d>{day})\b", on_weekday),
        (rf"{inside}\s+(?P<s>{any_of(words.seasons)})\b", words.on_season),
        (rf"(?P<u>{any_of(words.holidays) or '(?!)'})\b", words.on_holiday),
        numeric_dates.year_rule(frozenset(word_set(links.inside.replace("|", " ")))),
    )
    return compile_grammar(
        rules,
        join=r"\s*,?\s*",
        links=(r"\s*[-–—]\s*", r"\s*[-–—]\s*"),
        touch=r"\s*",
        future=links.future,
        clause=r",\s",
    )


def _make_korean() -> TimeGrammar:
    words = load_lexicon("korean")
    unit = rf"(?P<u>{any_of(words.units)})"
    number = rf"(?P<n>\d{{1,4}}|{any_of(words.numbers)})"

    def on_date(m: TimeRuleMatch) -> Piece | None:
        year, month, day = (int(m[name]) if m[name] else 0 for name in "ymd")
        if not month:
            return DatePart("year", m.start(), m.end(), year=year)
        if month > 12 or day > 31:
            return None
        return DatePart(
            "date" if day else "month", m.start(), m.end(), year=year or None, month=month, day=day
        )

    rules: tuple[Rule, ...] = (
        *numeric_dates.digit_rules(month_first=False),
        (any_of(words.plain), words.on_plain),
        (rf"{number}\s*{unit}\s*전", words.on_ago),
        (rf"{number}\s*{unit}\s*(?P<f>후|뒤)", words.on_ago),
        (r"(?:(?P<y>(?:19|20)\d\d)년\s*)?(?P<m>\d{1,2})월(?:\s*(?P<d>\d{1,2})일)?", on_date),
        (r"(?P<y>(?:19|20)\d\d)년(?!\s*전)", on_date),
        (
            (
                rf"(?P<w>{any_of(words.leans)})\s*(?P<u>{any_of((*words.units, *words.weekdays, *words.seasons))})"
            ),
            words.on_rel,
        ),
        (rf"(?P<d>{any_of(words.weekdays)})", words.on_weekday),
    )
    return compile_grammar(
        rules,
        join=r"\s*",
        links=(r"\s*[-~–]\s*", r"\s*[-~–]\s*"),
        touch=r"\s*",
        future="(?:할\\s*거|갈\\s*거|예정|계획|ㄹ게)",
        spaced=False,
    )
