"""Small talk: greetings, thanks, assent, laughter and farewells. Pure."""

from __future__ import annotations

import re
from functools import cache

from engrams.text.acknowledgements import ASSENT
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_rows, read_vocabulary, word_set

_LONGEST = 40
_UNSPACED = re.compile("[\u3005\u3040-\u30ff\u4e00-\u9fff]")
"""A letter of Chinese or Japanese."""
_WORDS = ASSENT | word_set(read_vocabulary(__file__, "small_talk"))
"""A text made of nothing else carries no fact."""


def is_small_talk(text: str) -> bool:
    """True for greetings, thanks and assent up to 40 characters."""
    stripped = text.strip()
    if not stripped or len(stripped) > _LONGEST:
        return False
    remainder = _compile_phrases().sub(" ", fold(stripped))
    if not tokens(remainder):
        return bool(tokens(stripped))
    words = [word.replace("'", "") for word in tokens(remainder)]
    content = [word for word in words if word not in STOP and not is_symbol(word)]
    return (
        bool(words)
        and all(word in _WORDS for word in content)
        and (bool(content) or all(word in _WORDS or is_symbol(word) for word in words))
    )


@cache
def _compile_phrases() -> re.Pattern[str]:
    """Compile the phrases of small talk, which stand apart from other words."""
    lines = list(read_rows(__file__, "small_talk_phrases"))
    spaced = "|".join(fold(line) for line in lines if not _UNSPACED.search(line))
    unspaced = "|".join(fold(line) for line in lines if _UNSPACED.search(line))
    letter = _UNSPACED.pattern
    return late_pattern(rf"\b(?:{spaced})(?!\w)|(?<!{letter})(?:{unspaced})+(?!{letter})")


def is_symbol(word: str) -> bool:
    return not (word.isalnum() or any(map(str.isalnum, word)))
