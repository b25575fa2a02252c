"""Values of what an assistant does in one way at a time: "answer in French", "use metric units".

``rejects_rule`` tells whether a rule names the value of an earlier one as the wrong one.
``are_rival_rules`` tells whether a later rule stands in the place of an earlier one: both are about
the same, in whichever of six languages each is said, and the values differ. ``list_topic_words``
lists what a rule is about. Pure.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from engrams.frozen_data import dataclass
from engrams.text.comparison.statement_comparison import is_additional
from engrams.text.normalize import fold
from engrams.text.rejected_values import split_rejected
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_classes
from engrams.write.change_detection.abandoned_things import tells_use

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_MEANINGFUL = re.compile("[\u30a0-\u30fa\u4e00-\u9fff]")
"""Characters of Chinese, and of Japanese without its endings."""
_MOST_WORDS_OF_THING = 2
_NOT = re.compile(r"n['’]t\b")
_CONDITION = re.compile(
    r"\b(?:when|whenever|if|unless|except|while|wenn|falls|sobald|außer|cuando|si|salvo|quand|lorsque|sauf)\b"
    r"|如果|要是|当|的时候|除非|とき|場合|なら|以外",
    re.IGNORECASE,
)
"""Words by which a rule holds on some occasions only."""


class AnswerValue(NamedTuple):
    """One value of one aspect, and what else the rule is about."""

    aspect: str
    value: str
    topics: frozenset[str]
    """Words by which the rule is about less than every answer: "emails"."""


@dataclass(frozen=True, slots=True)
class _WordList:
    """Words and beginnings of words."""

    words: frozenset[str]
    beginnings: tuple[str, ...]

    def holds(self, word: str) -> bool:
        return word in self.words or (bool(self.beginnings) and word.startswith(self.beginnings))


def are_rival_rules(new: str, earlier: str) -> bool:
    """True for two rules that set another value for the same thing: the later replaces the earlier."""
    new_value = _read_value(new)
    earlier_value = _read_value(earlier)
    return (
        new_value is not None
        and earlier_value is not None
        and new_value.aspect == earlier_value.aspect
        and new_value.value != earlier_value.value
        and new_value.topics == earlier_value.topics
        and not is_additional(new)
    )


def rejects_rule(new: str, earlier: str) -> bool:
    """True for a rule that names the value of an earlier one as the wrong one.

    "Use tabs, not spaces" rejects "use spaces". "Use tabs in Go files, not spaces" does not: it is
    about less.
    """
    value, rejected_value = split_rejected(new)
    wrong_words = list_topic_words(rejected_value)
    if not wrong_words or _CONDITION.search(new) or is_additional(new):
        return False
    own_words = list_topic_words(value)
    earlier_words = list_topic_words(split_rejected(earlier)[0])
    new_words = own_words - earlier_words
    is_about_the_same = len(new_words) <= len(wrong_words)
    return earlier_words - own_words == wrong_words and is_about_the_same


def decides_against_use(decision: str, earlier: str) -> bool:
    """True for a decision that names the thing which an earlier rule uses as the wrong one.

    "We decided on Redpanda instead of Kafka" is against "we use Kafka for events".
    """
    value, rejected_value = split_rejected(decision)
    rejected_thing = fold(rejected_value.strip(" .!`"))
    if (
        not rejected_thing
        or len(rejected_thing.split()) > _MOST_WORDS_OF_THING
        or rejected_thing in fold(value).split()
    ):
        return False
    is_whole = not _CONDITION.search(decision) and not is_additional(decision)
    return is_whole and tells_use(fold(split_rejected(earlier)[0]), rejected_thing)


@text_cache(512)
def list_topic_words(text: str) -> frozenset[str]:
    """List the words of a rule that tell what it is about, none of how such a rule is told."""
    frames = _read_table()["frame.spaced"]
    unspaced_frames = _read_table()["frame.unspaced"].words
    spaced = " ".join(
        word
        for word in _WORD.findall(_NOT.sub("", fold(text)))
        if len(word) > 1 and not _UNSPACED.search(word) and not frames.holds(word)
    )
    characters = set(_MEANINGFUL.findall(text)).difference(*unspaced_frames)
    return (frozenset(terms(spaced)) - STOP) | characters


@text_cache(512)
def _read_value(text: str) -> AnswerValue | None:
    """Read the value that a rule always sets; None: none of the table, or several."""
    if _CONDITION.search(text):
        return None
    rest_of_rule = fold(split_rejected(text)[0])
    matches = [
        (name, spelling)
        for name, words in _read_table().items()
        if not name.startswith("frame.")
        for spelling in _find_spellings(words, rest_of_rule)
    ]
    names = {name for name, _ in matches}
    if len(names) != 1:
        return None
    for _, spelling in matches:
        rest_of_rule = rest_of_rule.replace(spelling, " ")
    aspect, _, value = names.pop().partition(".")
    return AnswerValue(aspect, value, list_topic_words(rest_of_rule))


def _find_spellings(words: _WordList, text: str) -> list[str]:
    """Find the words of a list in a folded text."""
    spellings = [word for word in _WORD.findall(text) if words.holds(word)]
    return spellings + [word for word in words.words if _UNSPACED.match(word) and word in text]


@cache
def _read_table() -> dict[str, _WordList]:
    return {
        name: _WordList(
            frozenset(word for word in words if not word.endswith("*")),
            tuple(word[:-1] for word in words if word.endswith("*")),
        )
        for name, words in read_classes(__file__, "answer_values").items()
    }
