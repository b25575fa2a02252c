"""Order of names and numbers, which tells who did what to whom."""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.text_caches import text_cache

_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty hundred thousand million first"
    " second third half once twice"
)
NUMBER_WORDS = frozenset(_NUMBERS.split())
_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W_]+(?:['’-][^\W_]+)*")
_NO_NAMES = STOP - {"will"} | {"i'm", "i've", "i'd", "i'll"}
_MAX_CACHED = 5_000
"""Characters of the longest text whose names are cached."""


def is_reordered(text: str, other_text: str) -> bool:
    """True if shared names or numbers stand in another order.

    A name is a word with a capital letter in both texts; a word that merely begins a sentence is
    not.
    """
    first, second = (
        _cached_names_in_order(compared)
        if len(compared) <= _MAX_CACHED
        else _list_names_in_order(compared)
        for compared in (text, other_text)
    )
    if first == second:
        return False
    shared = frozenset(first) & frozenset(second)
    return [name for name in first if name in shared] != [name for name in second if name in shared]


def _list_names_in_order(text: str) -> tuple[str, ...]:
    """List capitalised words, numbers and number words, each once, in order of first mention."""
    folded = ((word, fold(word).removesuffix("'s")) for word in _WORD.findall(text))
    return tuple(
        dict.fromkeys(
            name
            for word, name in folded
            if name in NUMBER_WORDS or (_is_marked(word) and name not in _NO_NAMES)
        )
    )


def _is_marked(word: str) -> bool:
    return word[0].isupper() or any(char.isdigit() for char in word)


@text_cache(512)
def _cached_names_in_order(text: str) -> tuple[str, ...]:
    """Find a text's names, cached for the next comparison."""
    return _list_names_in_order(text)
