"""Grammar of times: rules, date parts and modifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import late_pattern
from engrams.text.times.calendar_math import LocalInterval

PartKind: TypeAlias = Literal[
    "date",
    "month",
    "year",
    "season",
    "holiday",
    "quarter",
    "weekday",
    "dom",
    "unit",
    "about",
    "stretch",
    "clock",
    "fixed",
]
ModKind: TypeAlias = Literal[
    "since", "until", "by", "before", "after", "from", "between", "edge", "nth", "shift", "within"
]


_LAST_WORD = late_pattern(r"([^\W_]+)'?[\s,(-]*\Z")
_NEXT_WORD = late_pattern(r"[\s,]*([^\W_]+)")


@dataclass(frozen=True, slots=True)
class DatePart:
    """Hold a piece of a date, from ``at`` to ``end``.

    ``year`` None: not said. ``index``: weekday 0 = Monday, season, quarter. ``offset``: how many
    units from now; for ``about`` and ``stretch`` its sign says past or future and ``count`` how
    many. ``lean``: -1 last, 0 this, 1 next, None not said. ``hours``: minutes of the day [from,
    to), up to 30 h for a night. ``last_day``: of a span of days. ``moved``: unit and count by which
    the day is moved, the same day of the week or of the year: "Tuesday week".
    """

    kind: PartKind
    at: int
    end: int
    year: int | None = None
    month: int = 0
    day: int = 0
    last_day: int = 0
    index: int = 0
    name: str = ""
    unit: str = ""
    offset: int | None = None
    count: tuple[int, int] = (1, 1)
    lean: int | None = None
    hours: tuple[int, int] | None = None
    edge: str = ""
    moved: tuple[str, int] | None = None
    span: LocalInterval | None = None


@dataclass(frozen=True, slots=True)
class TimeModifier:
    """Modifier of the date beside it, such as "early", "before" or "until"."""

    kind: ModKind
    at: int
    end: int
    suffix: bool = False
    """It stands behind its date."""
    name: str = ""
    unit: str = ""
    index: int = 0
    count: int = 1
    hours: tuple[int, int] | None = None
    instead: DatePart | None = None
    """Meaning without a date beside it."""


Piece: TypeAlias = DatePart | TimeModifier


@dataclass(frozen=True, slots=True)
class TimeRuleMatch:
    """Hold a rule's match in folded (``low``) and original ``text``."""

    match: re.Match[str]
    text: str

    @property
    def low(self) -> str:
        return self.match.string

    def __getitem__(self, name: str | int) -> str:
        """Return a group; empty if unmatched or unknown."""
        index = name if isinstance(name, int) else self.match.re.groupindex.get(name)
        return "" if index is None else self.match[index] or ""

    def start(self, name: str | int = 0) -> int:
        return self.match.start(name)

    def end(self, name: str | int = 0) -> int:
        return self.match.end(name)

    def is_capital(self, at: int) -> bool:
        return self.text[at : at + 1].isupper()

    def word_before(self, at: int) -> str:
        match = _LAST_WORD.search(self.low, max(0, at - 24), at)
        return match[1] if match else ""

    def word_after(self, at: int) -> str:
        match = _NEXT_WORD.match(self.low, at)
        return match[1] if match else ""


Handler: TypeAlias = Callable[[TimeRuleMatch], Piece | None]
Rule: TypeAlias = tuple[str, Handler]


@dataclass(frozen=True, slots=True)
class TimeGrammar:
    """Compiled patterns of one language's times.

    ``heads``: first letters of words that can begin a time. ``join``: text between two parts of one
    date; ``to``: between the ends of a range; ``both``: the same after "between"; ``touch``:
    between a modifier and its part. ``future``: makes a date without a year a coming one; so does
    ``present`` without ``past`` after "until".
    """

    scanner: re.Pattern[str]
    heads: frozenset[str]
    rules: tuple[Rule, ...]
    join: re.Pattern[str]
    to: re.Pattern[str]
    both: re.Pattern[str]
    touch: re.Pattern[str]
    future: re.Pattern[str]
    clause: re.Pattern[str]
    present: re.Pattern[str]
    past: re.Pattern[str]


def compile_grammar(  # noqa: PLR0913 - each argument is one pattern of the language
    rules: Sequence[Rule],
    *,
    join: str,
    links: tuple[str, str],
    touch: str,
    future: str,
    clause: str = "",
    tenses: tuple[str, str] = ("(?!)", "(?!)"),
    spaced: bool = True,
) -> TimeGrammar:
    """Compile rules into one scanner without their groups."""
    groups = "|".join(f"({_without_groups(pattern)})" for pattern, _ in rules)
    return TimeGrammar(
        scanner=re.compile((r"(?<![^\W_])" if spaced else "") + f"(?:{groups})"),
        heads=_first_letters(pattern for pattern, _ in rules),
        rules=tuple(rules),
        join=re.compile(join),
        to=re.compile(links[0]),
        both=re.compile(links[1]),
        touch=re.compile(touch),
        future=re.compile(future),
        clause=re.compile(r"[!?;\n。！？；]|\.(?=\s)" + (f"|{clause}" if clause else "")),
        present=re.compile(tenses[0]),
        past=re.compile(tenses[1]),
    )


def _without_groups(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def _first_letters(patterns: Iterable[str]) -> frozenset[str]:
    words = re.findall(
        r"[^\W\d_]+\??", " ".join(re.sub(r"\(\?P<\w+>|\\.", " ", pattern) for pattern in patterns)
    )
    return frozenset(
        form[:3]
        for word in words
        for form in ((word[:-1], word[:-2]) if word.endswith("?") else (word,))
    )


@cache
def compile_rule(pattern: str) -> re.Pattern[str]:
    """Compile a rule on first use: most are never needed."""
    return re.compile(pattern)


def any_of(table: Iterable[str]) -> str:
    """Build an alternation, longest first; blanks match any white space."""
    return "|".join(
        re.escape(word).replace(r"\ ", r"\s+") for word in sorted(table, key=len, reverse=True)
    )


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def phrase_key(text: str) -> str:
    """Normalize a matched phrase to single blanks."""
    return " ".join(text.split())
