"""Remove given words from texts, leaving a visible mark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

REMOVED = "[removed]"
MIN_REDACTED_CHARS = 8
"""Characters of the shortest words that are removed wherever they stand."""


def redact(text: str, words: Sequence[str]) -> str:
    """Replace each of ``words`` by a mark; parts of longer words stay."""
    for word in words:
        if word in text:
            text = _pattern(word).sub(REMOVED, text)
    return text


def redact_short(text: str, words: Sequence[str]) -> str:
    """Replace short words, where they hardly stand by chance.

    A word of letters and digits, or of several parts, is replaced everywhere; any other only where
    it is a whole line.
    """
    for word in words:
        if word in text:
            whole_line = re.compile(rf"(?m)^([\s>*+-]*){re.escape(word)}(?=\s*$)")
            text = (_pattern(word) if is_telling(word) else whole_line).sub(
                REMOVED if is_telling(word) else rf"\1{REMOVED}", text
            )
    return text


def is_telling(word: str) -> bool:
    """Return True for words that hardly stand in a text by chance."""
    return any(map(str.isalpha, word)) and (any(map(str.isdigit, word)) or len(word.split()) > 1)


def redact_values(value: Any, words: Sequence[str]) -> Any:
    """Redact every text within JSON values; keys stay."""
    match value:
        case str():
            return redact(value, words)
        case dict():
            return {name: redact_values(part, words) for name, part in value.items()}
        case list() | tuple():
            return [redact_values(part, words) for part in value]
        case _:
            return value


def find_words(text: str, words: str) -> str:
    """Find words as a text spells and spaces them.

    Empty where it does not hold them.
    """
    parts = re.findall(r"\w+", words)
    match = (
        re.search(r"\b" + r"\W+".join(map(re.escape, parts)) + r"\b", text, re.IGNORECASE)
        if parts
        else None
    )
    return match[0] if match else ""


def find_sentence(text: str, word: str) -> str:
    """Find the sentence of a text that holds a word; else empty."""
    sentences = re.split(r"(?<=[.!?。！？])\s+|\n", text)
    return next(
        (sentence.strip() for sentence in sentences if word and find_words(sentence, word)), ""
    )


def holds_word(text: str, word: str) -> bool:
    """Return True where a text holds a word whole."""
    return word in text and _pattern(word).search(text) is not None


def _pattern(word: str) -> re.Pattern[str]:
    first = r"(?<!\w)" if word[0].isalnum() else ""
    last = r"(?!\w)" if word[-1].isalnum() else ""
    return re.compile(first + re.escape(word) + last)
