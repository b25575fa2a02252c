"""Who is speaking, when, and what a reading of their clause amounts to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from engrams.text.stopwords import STOP
from engrams.types import Evidence, Kind
from engrams.write.candidate import Effect
from engrams.write.rules.lexicon import ADVERBS, DETERMINERS, EMPTY, PREPOSITIONS
from engrams.write.rules.predicates import VAGUE
from engrams.write.rules.tokens import Token
from engrams.write.wordlist import word_set

_TRAILING = word_set(
    "too though lol haha btw well now again lately recently ever either yet anymore longer instead especially and or but so"
    " as for to with in on at of the a an my i really"
)
_OTHERS = word_set("you your yours yourself u ya")


@dataclass(frozen=True, slots=True)
class UtteranceContext:
    """``speaker``: the name for sentences ("the user" where there is none). ``subject``: canonical. ``names``: people known by name,
    lower case. ``lower``: the text has no capitals at all, so that names cannot be told by them."""

    speaker: str
    subject: str
    said_at: datetime
    source: str
    trust: float = 1.0
    names: frozenset[str] = frozenset()
    is_lowercase: bool = False

    def evidence(self, quote: str) -> Evidence:
        """The literal words, where and by whom they were said."""
        return Evidence(quote.strip(" \t\n,，"), self.source, "" if self.speaker == "the user" else self.speaker)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What one clause says of its subject. ``object``: tokens of it; ``value``: its text where that is not just the tokens."""

    predicate: str
    category: str
    object: tuple[Token, ...] = ()
    value: str = ""
    effect: Effect = "states"
    polarity: bool = True
    confidence: float = 0.8
    importance: float = 0.5
    kind: Kind = Kind.FACT
    event: bool = False
    modality_wish: bool = False
    extra: tuple[Interpretation, ...] = field(default=())
    text: str = ""


def trim_trailing(words: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens without what trails off at the end: too, though, lol, a lone preposition or article."""
    end = len(words)
    while end and (
        words[end - 1].lower in _TRAILING or (not words[end - 1].text[-1].isalnum() and words[end - 1].text[-1] not in "%+#\"'”)")
    ):
        end -= 1
    return tuple(words[:end])


def is_concrete(words: Sequence[Token]) -> bool:
    """Whether the tokens name something that a fact can be about: a word with content, no ``it`` at the head, no ``you`` in it."""
    if not words or (words[0].lower in EMPTY and not (len(words) > 1 and (words[0].lower in ("one", "so", "all") or _is_pointed(words)))):
        return False
    if any(word.lower in _OTHERS for word in words):
        return False
    return any(is_content(word) for word in words)


def _is_pointed(words: Sequence[Token]) -> bool:
    """``these old notebooks with my early writings``: pointed at, but named."""
    return words[0].lower in ("this", "these", "that", "those") and sum(is_content(word) for word in words[1:]) > 1


def has_leading_content(words: Sequence[Token]) -> bool:
    """Whether a phrase whose head says nothing still tells something before its first preposition: ``abstract stuff``."""
    end = next((i for i, word in enumerate(words) if word.lower in PREPOSITIONS), len(words))
    return any(is_content(word) and not word.lower.isdigit() for word in words[:end])


def is_content(word: Token) -> bool:
    """A word that means something by itself."""
    lower = word.lower
    return lower[0].isalnum() and (len(lower) > 1 or lower.isdigit()) and lower not in STOP and lower not in VAGUE and lower not in EMPTY


def head_noun(words: Sequence[Token]) -> str:
    """The head noun of the noun phrase at the front: ``two big dogs from the shelter`` gives ``dogs``."""
    last = ""
    for word in words:
        if not word.text[0].isalnum() and word.lower != ",":
            continue
        if word.lower in PREPOSITIONS or word.lower in ("that", "who", "which", "where", "to", "and", ",", "named", "called", "because"):
            if last:
                break
            continue
        if word.lower not in DETERMINERS and word.lower not in ADVERBS:
            last = word.lower
    return last


def match_proper_name(words: Sequence[Token], lower: bool = False) -> tuple[Token, ...]:
    """The run of capitalised words at the front (an article before it left out); in all-lower-case text, up to two words."""
    at = 0
    while at < len(words) and words[at].lower in (
        "the",
        "downtown",
        "central",
        "north",
        "south",
        "east",
        "west",
        "northern",
        "southern",
        "a",
        "near",
    ):
        if words[at].text[0].isupper():
            break
        at += 1
    start = at
    while at < len(words) and (
        words[at].text[0].isupper()
        or (
            words[at].lower in ("of", "the", "de", "la", "and", "&", ",", "del", "di")
            and at > start
            and at + 1 < len(words)
            and words[at + 1].text[0].isupper()
            and words[at].lower not in ("and", ",")
        )
        or (words[at].text == "," and at > start and at + 1 < len(words) and words[at + 1].text[0].isupper() and at + 2 >= len(words))
        or (words[at].text[0].isdigit() and at > start)
    ):
        at += 1
    if at > start:
        return tuple(words[start:at])
    if lower and start < len(words):
        end = start
        while (
            end < len(words)
            and end < start + 2
            and words[end].lower.isalpha()
            and words[end].lower not in PREPOSITIONS | ADVERBS | DETERMINERS | EMPTY
            and words[end].lower not in STOP
        ):
            end += 1
        return tuple(words[start:end])
    return ()
