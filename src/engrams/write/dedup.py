"""Detection of exact and near duplicates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from engrams.text.cache import text_cache
from engrams.text.normalize import fold
from engrams.text.terms import terms, tokens
from engrams.types import Record, content_hash
from engrams.write.candidate import Candidate
from engrams.write.slots import canonical_predicate
from engrams.write.wordlist import word_set

_NEGATION = word_set(
    "not no never nothing none cannot without neither nor nobody nowhere hardly barely longer stopped quit anymore nicht"
    " kein keine nie sin nunca jamas pas jamais ne"
)
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_WORDS = word_set(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty thirty forty fifty hundred thousand million first second third half once twice"
)
_MONTHS = word_set(
    "january february march april may june july august september october november december monday tuesday wednesday thursday"
    " friday saturday sunday"
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'-]+")
_SMALL = frozenset(("a", "an", "the", "my", "their", "his", "her", "some", "our", "to"))


def find_exact(candidate: Candidate, known: Iterable[Record]) -> Record | None:
    """Find the record with equal text, or equal statement and polarity."""
    wanted = content_hash(candidate.text)
    thing = object_terms(candidate.object)
    for record in known:
        if content_hash(record.text) == wanted:
            return record
        if (
            thing
            and is_same_slot(candidate, record)
            and object_terms(record.object) == thing
            and is_affirmative(record) == candidate.polarity
            and is_ending(record) == (candidate.effect == "ends")
        ):
            return record
    return None


def find_near_duplicate(candidate: Candidate, known: Iterable[Record], threshold: float = 0.85) -> Record | None:
    """Find the closest record of the slot by word overlap.
    The Jaccard overlap is at least ``threshold`` (0..1), and no number, name, date or negation differs."""
    best: Record | None = None
    most = threshold
    for record in known:
        if (
            not is_same_slot(candidate, record)
            or is_affirmative(record) != candidate.polarity
            or is_ending(record) != (candidate.effect == "ends")
        ):
            continue
        overlap = jaccard(candidate.text, record.text)
        if (
            overlap >= most
            and not has_distinct_detail(candidate.text, record.text)
            and not _are_days_apart(candidate.valid_from, record.valid_from)
        ):
            best, most = record, overlap
    return best


def jaccard(one: str, other: str) -> float:
    """Return shared words over all words of two texts, 0..1.
    Two empty texts share nothing."""
    left, right = _tokens(one), _tokens(other)
    return len(left & right) / len(left | right) if left | right else 0.0


def has_distinct_detail(one: str, other: str) -> bool:
    """True if a negation, number, name or date differs."""
    left, right = _tokens(one), _tokens(other)
    changed = left ^ right
    if changed & (_NEGATION | _WORDS | _MONTHS) or any("n't" in word for word in changed):
        return True
    if sorted(_NUMBER.findall(one)) != sorted(_NUMBER.findall(other)):
        return True
    names = {fold(name) for name in _NAME.findall(one)} ^ {fold(name) for name in _NAME.findall(other)}
    return bool(names & changed)


def is_same_slot(candidate: Candidate, record: Record) -> bool:
    """True for equal subject and canonical predicate."""
    return fold(candidate.subject) == fold(record.subject) and canonical_predicate(candidate.predicate) == canonical_predicate(
        record.predicate
    )


@text_cache(16_384)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


@text_cache(16_384)
def object_terms(thing: str) -> tuple[str, ...]:
    """Return an object's stemmed words without articles and possessives."""
    words = [word for word in tokens(thing) if word not in _SMALL]
    return tuple(terms(" ".join(words))) if words else ()


def is_affirmative(record: Record) -> bool:
    """True if a stored statement affirms."""
    return bool(record.meta.get("polarity", True))


def is_ending(record: Record) -> bool:
    """True if a stored statement says something is no longer so."""
    return record.meta.get("effect") == "ends"


def _are_days_apart(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs((one - other).days) >= 1
