"""Context of an utterance and interpretation of its clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime

from engrams.core import Evidence, Kind
from engrams.extract.candidate import Effect
from engrams.extract.rules.english_lexicon import ADVERBS, DETERMINERS, EMPTY, PREPOSITIONS
from engrams.extract.rules.predicate_table import VAGUE
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.frozen_data import dataclass
from engrams.text.stopwords import STOP
from engrams.text.word_list import word_set

_TRAILING = word_set(
    "too though sorry lol haha btw well now again lately recently ever either yet anymore longer"
    " instead especially and or but so as for to with in on at of the a an my i really"
)
_OTHERS = word_set("you your yours yourself u ya")


@dataclass(frozen=True, slots=True)
class UtteranceContext:
    """Speaker, time and source of a text.

    ``speaker``: the name for sentences ("the user" where there is none). ``subject``: canonical.
    ``names``: people known by name, lower case. ``is_lowercase``: the text has no capitals, so they
    cannot mark names.
    """

    speaker: str
    subject: str
    said_at: datetime
    source: str
    trust: float = 1.0
    names: frozenset[str] = frozenset()
    is_lowercase: bool = False
    told_at: datetime | None = None
    """``said_at`` on the clock of whoever said it; None: that clock is not known."""

    @property
    def local_time(self) -> datetime:
        """Time of telling, by whose day "tomorrow" is counted."""
        return self.told_at or self.said_at

    def evidence(self, quote: str) -> Evidence:
        """Return the literal quote with source and speaker."""
        return Evidence(
            quote.strip(" \t\n,，"), self.source, "" if self.speaker == "the user" else self.speaker
        )


@dataclass(frozen=True, slots=True)
class ClauseMeaning:
    """Predicate, object, polarity and time read from one clause.

    ``object``: its tokens; ``value``: its text where that is not just the tokens.
    """

    predicate: str
    category: str
    object: tuple[ClauseToken, ...] = ()
    value: str = ""
    effect: Effect = "states"
    polarity: bool = True
    confidence: float = 0.8
    importance: float = 0.5
    kind: Kind = Kind.FACT
    event: bool = False
    modality_wish: bool = False
    extra: tuple[ClauseMeaning, ...] = field(default=())
    text: str = ""


def trim_trailing(words: Sequence[ClauseToken]) -> tuple[ClauseToken, ...]:
    """Drop trailing fillers: too, though, lol, a lone preposition or article."""
    end = len(words)
    while end and (
        words[end - 1].lower in _TRAILING
        or (not words[end - 1].text[-1].isalnum() and words[end - 1].text[-1] not in "%+#\"'”)")
    ):
        end -= 1
    return tuple(words[:end])


def is_concrete(words: Sequence[ClauseToken]) -> bool:
    """True if the tokens name something a fact can be about.

    A word with content, no ``it`` at the head, no ``you`` in it.
    """
    if not words or (
        words[0].lower in EMPTY
        and not (len(words) > 1 and (words[0].lower in ("one", "so", "all") or _is_pointed(words)))
    ):
        return False
    if any(word.lower in _OTHERS for word in words):
        return False
    return any(is_content(word) for word in words)


def _is_pointed(words: Sequence[ClauseToken]) -> bool:
    """True for objects that point at a concrete thing: ``these old notebooks``."""
    return (
        words[0].lower in ("this", "these", "that", "those")
        and sum(is_content(word) for word in words[1:]) > 1
    )


def has_leading_content(words: Sequence[ClauseToken]) -> bool:
    """True if content stands before the first preposition: ``abstract stuff``."""
    end = next((i for i, word in enumerate(words) if word.lower in PREPOSITIONS), len(words))
    return any(is_content(word) and not word.lower.isdigit() for word in words[:end])


def is_content(word: ClauseToken) -> bool:
    """True for a word that means something by itself."""
    lower = word.lower
    return (
        lower[0].isalnum()
        and (len(lower) > 1 or lower.isdigit())
        and lower not in STOP
        and lower not in VAGUE
        and lower not in EMPTY
    )


def head_noun(words: Sequence[ClauseToken]) -> str:
    """Return the head noun: ``two big dogs from the shelter`` gives ``dogs``."""
    last = ""
    for word in words:
        if not word.text[0].isalnum() and word.lower != ",":
            continue
        if word.lower in PREPOSITIONS or word.lower in (
            "that",
            "who",
            "which",
            "where",
            "to",
            "and",
            ",",
            "named",
            "called",
            "because",
        ):
            if last:
                break
            continue
        if word.lower not in DETERMINERS and word.lower not in ADVERBS:
            last = word.lower
    return last


def match_proper_name(words: Sequence[ClauseToken], lower: bool = False) -> tuple[ClauseToken, ...]:
    """Match the leading capitalised words, without an article.

    ``lower``: in text without capitals, up to two words.
    """
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
        or (
            words[at].text == ","
            and at > start
            and at + 1 < len(words)
            and words[at + 1].text[0].isupper()
            and at + 2 >= len(words)
        )
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
