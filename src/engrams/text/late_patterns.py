"""Regular expressions that are compiled when first used.

Compiling a long one takes milliseconds, and a short command uses few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_METHODS = (
    "search",
    "match",
    "fullmatch",
    "finditer",
    "findall",
    "split",
    "sub",
    "subn",
    "pattern",
    "flags",
    "groups",
    "groupindex",
)

_EDGE = r"\b"
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""Escaped character, set of characters, or any other one of a pattern."""


class _LatePattern:
    def __init__(self, make: Callable[[], re.Pattern[str]]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = self._make()
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return self.__dict__[name]


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of a compiled one."""
    return _LatePattern(lambda: re.compile(pattern, flags))  # type: ignore[return-value]


def late_alternatives(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches where any of these does.

    A search looks for a word's edge once at each character, not once for each pattern. Of several
    patterns that match at one character, another one than before may win.
    """
    return _LatePattern(lambda: re.compile(_join_alternatives(patterns)))  # type: ignore[return-value]


def _join_alternatives(patterns: Iterable[str]) -> str:
    alternatives = [
        alternative for pattern in patterns for alternative in split_alternatives(pattern)
    ]
    edged = [
        alternative.removeprefix(_EDGE)
        for alternative in alternatives
        if alternative.startswith(_EDGE)
    ]
    return "|".join(
        ([rf"{_EDGE}(?:{'|'.join(edged)})"] if edged else [])
        + [alternative for alternative in alternatives if not alternative.startswith(_EDGE)]
    )


def split_alternatives(pattern: str) -> list[str]:
    """Split a pattern at its outermost bars."""
    depth = 0
    alternatives = [""]
    for piece in _PIECE.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and not depth:
            alternatives.append("")
        else:
            alternatives[-1] += piece
    return alternatives


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Test for any of these words, which is cheaper than a pattern."""
    for word in words:  # noqa: SIM110 - a generator takes three times as long, for each text of each write
        if word in text:
            return True
    return False
