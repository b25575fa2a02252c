"""Tables of German, Spanish, French, Chinese and Japanese: the TOML files beside this module.

Enter at ``load_language``. English has a parser instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from engrams.extract.candidate import Effect
from engrams.extract.rules.named_people import RELATIVES
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import late_pattern

CODES = ("de", "es", "fr", "zh", "ja")


@dataclass(frozen=True, slots=True)
class SentencePattern:
    """One sentence form of a language."""

    find: re.Pattern[str]
    """Its groups are ``o`` or ``n`` (object), ``r`` (a relative), ``f`` (a favorite or property)."""
    predicate: str
    category: str
    effect: Effect
    polarity: bool


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """Patterns and words of one language; each pattern is compiled when it is first used."""

    code: str
    cue: re.Pattern[str]
    """First person, by which a text is read for sentence forms."""
    first_person: re.Pattern[str]
    """First person of a clause that no form reads."""
    hypothetical: re.Pattern[str]
    """Words of a wish, a condition or hearsay."""
    faint: re.Pattern[str]
    """Words by which a liking is only implied: "irgendwie", "creo que"."""
    denied: re.Pattern[str]
    over: re.Pattern[str]
    coming: re.Pattern[str]
    outlook: Mapping[str, re.Pattern[str]]
    """Signs that a time is ``over``, ``coming`` or ``present``, words that ``governs`` one, and
    days that recur (``habit``)."""
    favorites: Mapping[str, str]
    properties: Mapping[str, str]
    forms: Sequence[SentencePattern]


@cache
def load_language(code: str) -> LanguageTable | None:
    """Load the table of a language; None: there is none."""
    if code not in CODES:
        return None
    path = Path(__file__).with_name(f"{code}.toml")
    table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    relative = f"(?P<r>{'|'.join(sorted(RELATIVES, key=len, reverse=True))})"
    thing = f"(?P<f>{'|'.join(table['properties'])})"
    forms = [
        SentencePattern(
            late_pattern(
                pattern.replace("<rel>", relative).replace("<prop>", thing), re.IGNORECASE
            ),
            predicate,
            category,
            next((word for word in more if word != "no"), "states"),
            "no" not in more,
        )
        for predicate, category, pattern, *more in table["forms"]
    ]
    names = ("cue", "first_person", "hypothetical", "faint", "denied", "over", "coming")
    return LanguageTable(
        code=code,
        **{name: late_pattern(table[name], re.IGNORECASE) for name in names},
        outlook={name: late_pattern(pattern) for name, pattern in table["outlook"].items()},
        favorites=table["favorites"],
        properties=table["properties"],
        forms=forms,
    )
