"""Regular expressions that are compiled when first used.

Compiling a long one takes milliseconds, and a short command uses few of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn", "pattern", "flags", "groups", "groupindex")


class _LatePattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return self.__dict__[name]


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of a compiled one."""
    return _LatePattern(pattern, flags)  # type: ignore[return-value]


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Test for any of these words, which is cheaper than a pattern."""
    for word in words:  # noqa: SIM110 - a generator takes three times as long, for each text of each write
        if word in text:
            return True
    return False
