"""Denials of events: ``I didn't move to Naples after all``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import find_lemma
from engrams.extract.rules.sentence_segmenter import ClauseToken, TextSentence
from engrams.text.times import TimeSpan

_EMPHASIS = (
    ("after", "all"),
    ("at", "all"),
    ("in", "the", "end"),
    ("obviously",),
    ("actually",),
    ("lol",),
)
_TAKEN_BACK = frozenset(("joking", "kidding", "lied", "lying"))
_SPEAKER = frozenset(("i", "we"))
_FILLERS = frozenset(
    (
        "actually",
        "mind",
        "never",
        "no",
        "nope",
        "nvm",
        "ok",
        "okay",
        "oops",
        "so",
        "sorry",
        "well",
        ",",
    )
)
_NOT = frozenset(("not", "n't", "never"))
_PARTLY = frozenset(
    ("also", "even", "just", "necessarily", "only", "quite", "really", "simply", "solely")
)
# "I didn't move to Naples because of the sea": denied is the reason, not the move.
_GOES_ON = re.compile(
    r"[\s,]{0,3}(?:alone|as|because|before|by|'?cause|cuz|for|from|if|in|just|on|since|so|till?|to|unless|until|when|while|with|without)\b",
    re.IGNORECASE,
)


_OVER = re.compile(
    r"\W{0,8}(?:just |only |i'?m |i was )?(?:just |only )?(?:kidding|joking|jk)\b", re.IGNORECASE
)


def is_joke_over(sentence: TextSentence) -> bool:
    """True for "just kidding, I didn't move": only the denial is meant."""
    return sentence.modality == "joke" and _OVER.match(sentence.text) is not None


def drop_emphasis(words: tuple[ClauseToken, ...], clause: EnglishClause) -> tuple[ClauseToken, ...]:
    """Drop "after all" and the like at the end of a denial."""
    if not clause.negated or clause.tense not in ("past", "perfect"):
        return words
    for said in _EMPHASIS:
        if len(words) > len(said) and tuple(word.lower for word in words[-len(said) :]) == said:
            return words[: -len(said)]
    return words


def reword_denial(words: list[ClauseToken]) -> list[ClauseToken]:
    """Reword "I lied about moving" as "I did not move".

    Also "we ended up not moving" and "not moving after all"; other words stay.
    """
    said = [word.lower for word in words]
    at = next(
        (
            i
            for i, word in enumerate(said)
            if word.endswith("ing") and i and _is_taken_back(said, i)
        ),
        0,
    )
    known = find_lemma(said[at]) if at else None
    if known is None or "ing" not in known[1]:
        return words
    verb = words[at]
    begun = [
        ClauseToken(word, word.lower(), verb.start, verb.start) for word in ("I", "did", "not")
    ]
    return [*begun, ClauseToken(known[0], known[0], verb.start, verb.end), *words[at + 1 :]]


def _is_taken_back(said: list[str], at: int) -> bool:
    before = tuple(said[max(0, at - 3) : at])
    if before[-1:] == ("about",) and not _TAKEN_BACK.isdisjoint(before):
        return not _SPEAKER.isdisjoint(said[:at]) and _NOT.isdisjoint(said[:at])
    if before == ("ended", "up", "not") and said[max(0, at - 4) : at - 3] in (["i"], ["we"], []):
        return True
    return (
        before[-1:] == ("not",)
        and said[-2:] == ["after", "all"]
        and _FILLERS.issuperset(said[: at - 1])
    )


def is_plain_denial(clause: EnglishClause, text: str, times: Sequence[TimeSpan]) -> bool:
    """True where the event is denied, not its day, reason or extent."""
    dated = clause_dates.filter_within(times, clause.start, clause.end)
    return not dated and _PARTLY.isdisjoint(clause.adverbs) and not _GOES_ON.match(text, clause.end)
