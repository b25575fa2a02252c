"""Identifiers in text: bookings, tickets, parcels, long numbers."""

from __future__ import annotations

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold

WORD = late_pattern(r"[^\W_]+(?:[-_][^\W_]+)*")
"""Word of folded text, with its hyphens."""

_HAS_BOTH = late_pattern(r"(?=[^\d]*\d)[\d_-]*[a-z]")
# Times, amounts, ordinals, quarters, versions, years: "9am", "12kg", "3rd", "q3", "v2", "mid-2020",
# "covid-19", "3-month".
_NO_CODE = late_pattern(
    r"\d+[a-z]{1,5}|\d+-[a-z]+.*|[qhv]\d{1,2}|covid-?19|(?:mid|pre|post|early|late|spring|summer|autumn|fall|winter|euro)-?(?:19|20)\d\d"
)
_NUMBER = late_pattern(r"(?!(?:19|20)\d\d$)\d{4,}")
_LEAST_CODE_DIGITS = 2
_MOST_IDENTIFIERS = 8
_MOST_CHARS = 64
"""Characters of the longest word that is looked at."""


def is_code(word: str) -> bool:
    """True for a folded word of letters and digits, as "lh454"."""
    return _HAS_BOTH.match(word) is not None and _NO_CODE.fullmatch(word) is None


def count_digits(word: str) -> int:
    """Number of digits in a word."""
    return sum(map(str.isdigit, word))


def find_identifiers(text: str) -> list[str]:
    """Find the first eight codes and long numbers, folded, each once.

    A code has letters and at least two digits. A number has at least four digits and is no year
    from 1900 to 2099.
    """
    if not any(map(str.isdigit, text)):
        return []
    words = dict.fromkeys(word for word in WORD.findall(fold(text)) if len(word) <= _MOST_CHARS)
    return [
        word
        for word in words
        if _NUMBER.fullmatch(word) or (is_code(word) and count_digits(word) >= _LEAST_CODE_DIGITS)
    ][:_MOST_IDENTIFIERS]
