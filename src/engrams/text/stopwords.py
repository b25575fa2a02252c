"""Word lists of function words, which carry no content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from engrams.text.vocabulary import read_classes, read_vocabulary

_ENGLISH = read_vocabulary(__file__, "stopwords_english")

# These three omit words that are English once folded (die, war, hat, man, den, als, er, mit; la,
# hay, son, sin; ai, est, plus, sans, par, pour, ton; fur from für): an indexed function word costs
# little, a dropped word can never be found.
_GERMAN = read_vocabulary(__file__, "german")

_SPANISH = read_vocabulary(__file__, "spanish")

_FRENCH = read_vocabulary(__file__, "french")

STOP = frozenset(f"{_ENGLISH} {_GERMAN} {_SPANISH} {_FRENCH}".split())

# Chinese and Japanese characters that are function words when alone.
HAN_FUNCTION = frozenset(
    "的了是在我你他她它们們这這那哪和与與及或而也都就还還又很不没沒有个個么麼什吗嗎呢吧啊呀把被让讓给給对對从從到"
    "为為之其以于於上下里裡中来來去会會能可要说說一"
)


def are_function_words(words: Sequence[str]) -> bool:
    """True for words, as ``tokens`` gives them, that are all function words of one language.

    "et alors", "und dann": of a word that is another language's word of content, too, only a whole
    text tells the language.
    """
    spaced_languages, unspaced = _read_function_words()
    if not words:
        return False
    if unspaced.fullmatch("".join(words)):
        return True
    unknown = {word.replace("'", "") for word in words} - STOP
    return any(unknown <= language for language in spaced_languages)


@cache
def _read_function_words() -> tuple[tuple[frozenset[str], ...], re.Pattern[str]]:
    classes = read_classes(__file__, "function_words")
    unspaced = sorted(classes.pop("unspaced"), key=len, reverse=True)
    return tuple(classes.values()), re.compile(f"(?:{'|'.join(unspaced)})+")
