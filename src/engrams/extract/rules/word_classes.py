"""Classes of English words, and tests of the words of an object.

``CLASSES`` holds the lists of ``vocabulary/classes.txt``: jobs, diets, relations, vague nouns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from engrams.extract.rules.english_lexicon import ADVERBS, DETERMINERS, EMPTY, PREPOSITIONS
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.stopwords import STOP
from engrams.text.vocabulary import read_classes, word_set

CLASSES = read_classes(__file__, "classes")
RELATIONS = CLASSES["relation"]
JOBS = CLASSES["job"]
_VAGUE = CLASSES["vague"]
_TRAILING = word_set(
    "too though sorry lol haha btw well now again lately recently ever either yet anymore longer"
    " instead especially and or but so as for to with in on at of the a an my i really"
)
_INTENSITY = (
    *(("a", word) for word in ("lot", "ton")),
    *((word, "much") for word in ("very", "so", "too")),
    *(("a", word, "deal") for word in ("great", "good")),
    ("the", "most"),
    ("most", "of", "all"),
    ("more", "than", "anything"),
)
"""Phrases that tell how much somebody does something, and are no part of what they do it with."""
_OTHERS = word_set("you your yours yourself u ya")
_LEADING = word_set("the downtown central north south east west northern southern a near")
_NAME_JOINTS = word_set("of the de la & del di")
_HEAD_ENDS = word_set("that who which where to and , named called because")
_ROLE_ENDS = word_set("at for in with on since and but who where ,")
_DIGITS = "0123456789"


def trim_trailing(words: Sequence[ClauseToken]) -> tuple[ClauseToken, ...]:
    """Drop trailing fillers: too, though, lol, "any more", a lone preposition or article."""
    end = len(words)
    while end and (
        words[end - 1].lower in _TRAILING
        or [word.lower for word in words[max(end - 2, 0) : end]] == ["any", "more"]
        or (not words[end - 1].text[-1].isalnum() and words[end - 1].text[-1] not in "%+#\"'”)")
    ):
        end -= 1
    return tuple(words[:end])


def trim_intensity(words: Sequence[ClauseToken]) -> tuple[ClauseToken, ...]:
    """Drop how much, behind what: ``jazz very much`` gives ``jazz``; ``a lot`` alone stays."""
    lower = tuple(word.lower for word in words)
    for phrase in _INTENSITY:
        if len(lower) > len(phrase) and lower[-len(phrase) :] == phrase:
            return tuple(words[: -len(phrase)])
    return tuple(words)


def is_content(word: ClauseToken) -> bool:
    """True for a word that means something by itself."""
    lower = word.lower
    is_word = lower[0].isalnum() and (len(lower) > 1 or lower.isdigit())
    return is_word and lower not in STOP and lower not in _VAGUE and lower not in EMPTY


def is_concrete(words: Sequence[ClauseToken]) -> bool:
    """True if the tokens name something a fact can be about.

    A word with content, no ``it`` at the head, no ``you`` in it.
    """
    if not words or any(word.lower in _OTHERS for word in words):
        return False
    first = words[0].lower
    is_pointed = first in ("this", "these", "that", "those")
    if first in EMPTY and not (len(words) > 1 and (first in ("one", "so", "all") or is_pointed)):
        return False
    return sum(map(is_content, words)) > is_pointed


def find_head_noun(words: Sequence[ClauseToken]) -> str:
    """Return the head noun: ``two big dogs from the shelter`` gives ``dogs``."""
    last = ""
    for word in words:
        if not word.text[0].isalnum() and word.lower != ",":
            continue
        if word.lower in PREPOSITIONS or word.lower in _HEAD_ENDS:
            if last:
                break
        elif word.lower not in DETERMINERS and word.lower not in ADVERBS:
            last = word.lower
    return last


def cut_role(words: Sequence[ClauseToken]) -> tuple[ClauseToken, ...]:
    """Cut at the first preposition or clause word behind the first word."""
    return tuple(takewhile(lambda word: word is words[0] or word.lower not in _ROLE_ENDS, words))


def match_proper_name(
    words: Sequence[ClauseToken], *, is_lowercase: bool = False
) -> tuple[ClauseToken, ...]:
    """Match the leading capitalised words, without an article; none where they only own a thing.

    ``is_lowercase``: in text without capitals, up to two words.
    """
    start = 0
    while start < len(words) and words[start].text in _LEADING:
        start += 1
    end = start
    while end < len(words) and _continues_name(words, start, end):
        end += 1
    if end > start and end < len(words) and words[end].lower == "'s":
        return ()  # "Anna's flat"
    if end == start and is_lowercase:
        lowered = takewhile(_is_name_word, words[start : start + 2])
        return tuple(lowered)
    return tuple(words[start:end])


def _continues_name(words: Sequence[ClauseToken], start: int, at: int) -> bool:
    word = words[at]
    if word.text[0].isupper():
        return True
    if at == start:
        return False
    if word.lower == "'s":
        return _ends_name(words, at)
    if word.text[0] in _DIGITS:
        return True
    following = words[at + 1].text if at + 1 < len(words) else ""
    is_last = at + 2 >= len(words)
    return following[:1].isupper() and (
        word.lower in _NAME_JOINTS or (word.text == "," and is_last)
    )


def _ends_name(words: Sequence[ClauseToken], at: int) -> bool:
    """True for an 's of the name itself: "McDonald's", "King's Lynn"; not "Anna's flat"."""
    following = words[at + 1] if at + 1 < len(words) else None
    return (
        following is None
        or following.text[0].isupper()
        or not following.lower.isalpha()
        or following.lower in PREPOSITIONS | ADVERBS
        or following.lower in STOP
    )


def _is_name_word(word: ClauseToken) -> bool:
    lower = word.lower
    is_function = lower in PREPOSITIONS | ADVERBS | DETERMINERS | EMPTY or lower in STOP
    return lower.isalpha() and not is_function
