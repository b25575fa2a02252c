"""Denials of events: ``I didn't move to Naples after all``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import find_lemma
from engrams.extract.rules.sentence_segmenter import ClauseToken, TextSentence
from engrams.text.late_patterns import holds_any
from engrams.text.times import TimeSpan

_EMPHASIS = (
    ("after", "all"),
    ("at", "all"),
    ("in", "the", "end"),
    ("obviously",),
    ("actually",),
    ("lol",),
)
_TAKEN_BACK = re.compile(
    r"(?:\b(?:I|we)\b(?:(?!\bnot\b|n't\b|\bnever\b)[^.]){0,30}\b(?:joking|kidding|lied|lying) about"
    r"|(?:^|\bI |\bwe )ended up not"
    r"|^\W*(?:(?:actually|mind|never|no|nope|nvm|ok|okay|oops|so|sorry|well)\b\W*)*not"
    r"(?=.*\bafter all\W*$)) (?P<verb>\w+ing)\b",
    re.IGNORECASE,
)
_TAKEN_BACK_WORDS = (
    *("joking about", "kidding about", "lied about", "lying about"),
    *("ended up not", "after all"),
)
"""Each match holds one of these: looking for them is cheaper than matching."""
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


def reword_denial(text: str, words: list[ClauseToken]) -> list[ClauseToken]:
    """Reword "I lied about moving" as "I did not move".

    Also "we ended up not moving" and "not moving after all"; other words stay. ``words``: the
    tokens of ``text``.
    """
    may_take_back = "ing" in text and holds_any(text.lower(), _TAKEN_BACK_WORDS)
    match = _TAKEN_BACK.search(text) if may_take_back else None
    lemma = find_lemma(match["verb"].lower()) if match else None
    if match is None or lemma is None or "ing" not in lemma.forms:
        return words
    start = words[0].start - text.find(words[0].text) + match.start("verb")
    index = next((i for i, word in enumerate(words) if word.start == start), -1)
    if index < 0:
        return words
    denied = [ClauseToken(word, word.lower(), start, start) for word in ("I", "did", "not")]
    verb = ClauseToken(lemma.base, lemma.base, start, words[index].end)
    return [*denied, verb, *words[index + 1 :]]


def is_plain_denial(clause: EnglishClause, text: str, times: Sequence[TimeSpan]) -> bool:
    """True where the event is denied, not its day, reason or extent."""
    dated = clause_dates.filter_within(times, clause.start, clause.end)
    return not dated and _PARTLY.isdisjoint(clause.adverbs) and not _GOES_ON.match(text, clause.end)
