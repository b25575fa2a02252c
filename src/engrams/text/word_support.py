"""Support of a text that a model wrote by the words that it was shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from engrams.text.normalize import fold
from engrams.text.stems import differ_in_language
from engrams.text.terms import is_unspaced, terms
from engrams.text.times.language import detect_language

CALENDAR = frozenset(
    fold(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may"
        " june july august september october november december user assistant i"
    ).split()
)
"""Capitalised words that are no names."""
_STEM = 4
"""Letters that two forms of a word share; a form of three letters is the beginning of the other."""
_SHORTEST_FORM = 3
_SUPPORTED_SHARE = 0.5
"""Share of a text's words that somebody must have said."""
_NAME = re.compile(
    r"(?<![.!?:\"“(] )(?<!^)(?<!^[\"“(])\b[A-Z][\w-]*\b|\b\w+[A-Z]\w*\b|\b\w+\.(?:com|org|net|io|example)\b"
)
_NUMBER = re.compile(r"\d+")


def find_unsupported(texts: Sequence[str], heard_text: str) -> tuple[str, ...]:
    """Find the texts that cannot say in other words what somebody said.

    The numbers and names of a text, and half of its other words, must have been said. In another
    language, or in a script without blanks, only the numbers count.
    """
    heard_words = set(terms(heard_text))
    heard_numbers = _find_numbers(heard_text)
    return tuple(
        text
        for text in texts
        if not _find_numbers(text) <= heard_numbers
        or not _is_worded_alike(text, heard_text, heard_words)
    )


def _is_worded_alike(text: str, heard_text: str, heard_words: set[str]) -> bool:
    """Return True for a text whose names and most of whose words were said."""
    if is_unspaced(text) or differ_in_language(text, heard_text):
        return True
    if find_unsaid_name((text,), heard_text):
        return False
    words = set(terms(text)) - CALENDAR
    supported_words = [word for word in words if is_among(word, heard_words)]
    return len(supported_words) >= _SUPPORTED_SHARE * len(words)


def is_among(word: str, words: Collection[str]) -> bool:
    """Return True if a word, or another form of it, is among others."""
    return word in words or any(
        (word.startswith(stem[:_STEM]) or stem.startswith(word[:_STEM]))
        and min(len(word), len(stem)) >= _SHORTEST_FORM
        for stem in words
    )


def find_unsaid_name(texts: Sequence[str], heard_text: str) -> str:
    """Return a name in texts that nobody said; empty: there is none."""
    if detect_language(texts[0]) == "de":
        return ""  # Every noun is capitalised, so a capital tells no name.
    folded_text = fold(heard_text)
    for text in texts:
        for match in _NAME.finditer(text):
            name = fold(match[0])
            stems = (name[:_STEM], name.removesuffix("s"))
            if name not in CALENDAR and not any(stem in folded_text for stem in stems):
                return match[0]
    return ""


def _find_numbers(text: str) -> set[int]:
    return {int(digits) for digits in _NUMBER.findall(text)}
