"""Evidence that a clause of a newer message replaces one of an older: enter at ``shows_replacement``.

Two long messages of one person share words, numbers and words of change by chance, so that their
likeness alone is no reason for a mark. The words must stand together in one clause of each.
"""

from __future__ import annotations

from functools import cache

from engrams.text.clause_kinds import may_tell_change
from engrams.text.clause_split import split_clauses
from engrams.text.late_patterns import late_pattern
from engrams.text.terms import terms
from engrams.text.vocabulary import read_vocabulary
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.features import MessageClause, read_clause, read_values

_ENDS = tuple(map(NAMES.index, ("no_more", "end", "switch", "instead", "correction")))
_CHANGES = (
    *_ENDS,
    *map(NAMES.index, ("new", "from_now", "finally", "back", "now", "old")),
)
_STILL = NAMES.index("still")
_EXERCISE = late_pattern(
    r"\b(?:trying|help|how (?:can|do|should) i|want) (?:to )?(?:\w+ )?"
    r"(?:prove|calculate|solve|verify|find|figure|apply|understand|model|classify|determine|debug|implement)\b"
    r"|\b(?:triangles?|theorem|equations?|formula|hypotenuse)\b"
)
"""A task to be worked on, which is no state of anybody."""
_NUMBER = late_pattern(r"\d+(?:[.:,]\d+)*")
_CODE = late_pattern(r"[A-Za-z]+\d+")
"""Name of a product, such as Mate60."""
_DATE = late_pattern(
    r"\b(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?"
)
_LONG_WORDS = 22
"""Words from which a message is long."""
_MANY_CLAUSES = 3
"""Clauses that tell something, beyond which a message is long too."""
_SHORT_CLAUSE = 18
"""Words of a clause up to which one word in common, or a topic, is evidence beside a word of an end."""
_PROBABLE = 0.5
"""Probability from which words of an end are evidence without a value that differs."""
_REPEATED = 0.6
"""Share of the words of a clause from which another with the same numbers repeats it."""
_SHORTEST = 3
"""Letters of the shortest word that counts as shared."""


def is_long(text: str) -> bool:
    """True for a message that says so much that it is like many others."""
    if len(text.split()) > _LONG_WORDS:
        return True
    return sum(map(may_tell_change, split_clauses(text))) > _MANY_CLAUSES


def shows_replacement(ending: str, news: str, probability: float) -> bool:
    """True if the words of two clauses show that the newer replaces the older.

    Beside a number or name that differs they share two words, or one with a word of change. A word
    of an end beside a common word or topic is less: it counts only where the change is probable.

    ``probability``: of the whole messages.
    """
    old = read_clause(ending)
    new = read_clause(news)
    if _EXERCISE.search(old.text.lower()) or _EXERCISE.search(new.text.lower()):
        return False
    shared = _find_shared(old, new)
    if _has_other_value(old.text, new.text):
        changes = any(new.cues[cue] for cue in _CHANGES)
        return len(shared) >= (1 if changes else 2)
    if probability < _PROBABLE or new.cues[_STILL] or not any(new.cues[cue] for cue in _ENDS):
        return False
    is_short = max(len(ending.split()), len(news.split())) <= _SHORT_CLAUSE
    return len(shared) > 1 or (is_short and bool(shared or old.topics & new.topics))


def says_the_same(ending: str, news: str) -> bool:
    """True if a newer clause has the values and most words of the older, and no word of an end."""
    codes = set(_CODE.findall(ending))
    numbers = set(_NUMBER.findall(ending))
    # A day that only the newer names is no other value: "from 1 November on".
    news_values = news if _DATE.search(ending) else _DATE.sub(" ", news)
    if not numbers or numbers != set(_NUMBER.findall(news_values)):
        return False
    old = read_clause(ending)
    new = read_clause(news)
    words = {word for word in old.words if not word.isdigit()}
    is_code = bool(codes) and codes == set(_CODE.findall(news))
    repeats = is_code or len(words & new.words) >= _REPEATED * len(words)
    return repeats and not any(new.cues[cue] for cue in _ENDS)


def _find_shared(old: MessageClause, new: MessageClause) -> set[str]:
    return {
        word
        for word in (old.words & new.words) - list_general_words()
        if (len(word) >= _SHORTEST or not word.isascii()) and not word.isdigit()
    }


def _has_other_value(old_text: str, new_text: str) -> bool:
    """True if a number or a name beside the same word differs."""
    old_values = read_values(old_text)
    new_values = read_values(new_text)
    return any(
        old_values[key].isdisjoint(new_values[key]) for key in old_values.keys() & new_values.keys()
    )


@cache
def list_general_words() -> frozenset[str]:
    """List the words that two clauses may share without being about the same."""
    return frozenset(terms(read_vocabulary(__file__, "general_words")))
