"""Tokenizer that takes contractions apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tense: TypeAlias = Literal["present", "past", "perfect", "progressive", "was", "been", "future", "used", "can", "must", "would"]
Person: TypeAlias = Literal["self", "group", "other"]

_TOKEN = re.compile(
    r"n't\b|'(?:m|s|ve|re|d|ll|em|cause|til)\b|[$€£¥]?\d+(?:[.,:/-]\d+)*%?\w*|[^\W\d_]\w*?(?=n't\b)|\w+(?:[-.+/&@]\w+)*[+#]*|\.\.\.|[^\w\s]"
)
_WHOLE = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "ai": "is",
    "'cause": "because",
    "cuz": "because",
    "coz": "because",
    "'em": "them",
    "u": "you",
}
_SPLIT = {
    "im": ("i", "'m"),
    "ive": ("i", "'ve"),
    "dont": ("do", "n't"),
    "didnt": ("did", "n't"),
    "doesnt": ("does", "n't"),
    "cant": ("can", "n't"),
    "wont": ("will", "n't"),
}


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    lower: str
    start: int
    end: int


def tokens(text: str, at: int = 0) -> list[Token]:
    """Split into words and punctuation with positions.
    ``at``: the text's position in the whole. Contractions are taken apart."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        word, lower = match[0], match[0].lower()
        start, end = match.start() + at, match.end() + at
        if lower in _SPLIT:
            first, second = _SPLIT[lower]
            cut = start + (1 if first == "i" else len(word) - 2)
            found += [Token(word[: cut - start], first, start, cut), Token(word[cut - start :], second, cut, end)]
        else:
            found.append(Token(word, _WHOLE.get(lower, lower), start, end))
    return found
