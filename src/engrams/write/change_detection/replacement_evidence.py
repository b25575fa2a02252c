"""Evidence that a clause of a newer message replaces one of an older: enter at ``replaces_clause``.

Two long messages of one person share words, numbers and words of change by chance, so that their
likeness alone is no reason for a mark. The words must stand together in one clause of each.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from engrams.text.clause_kinds import may_end, may_tell_change
from engrams.text.clause_split import split_clauses
from engrams.text.terms import terms
from engrams.text.vocabulary import read_vocabulary
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.features import MessageClause, read_clause, read_values

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageFeatures

_CHANGES = tuple(
    NAMES.index(name)
    for name in (
        "no_more",
        "end",
        "switch",
        "new",
        "from_now",
        "correction",
        "instead",
        "finally",
        "back",
        "now",
        "old",
    )
)
_LONG_WORDS = 22
"""Words from which a message is long."""
_MANY_CLAUSES = 3
"""Clauses that tell something, beyond which a message is long too."""
_SHORTEST = 3
"""Letters of the shortest word that counts as shared."""


def replaces_clause(old: MessageFeatures, new: MessageFeatures) -> bool:
    """True unless a message is long and no clause of the newer one seems to replace one of the older.

    Such a clause has a word of change, and with the older clause two words in common, or one beside
    a common topic or a number or name that differs.
    """
    if not _is_long(old.text) and not _is_long(new.text):
        return True
    old_clauses = [read_clause(clause) for clause in split_clauses(old.text) if may_end(clause)]
    new_clauses = [
        read_clause(clause) for clause in split_clauses(new.text) if may_tell_change(clause)
    ]
    return any(_replaces(earlier, later) for earlier in old_clauses for later in new_clauses)


def _is_long(text: str) -> bool:
    if len(text.split()) > _LONG_WORDS:
        return True
    return sum(map(may_tell_change, split_clauses(text))) > _MANY_CLAUSES


def _replaces(old: MessageClause, new: MessageClause) -> bool:
    if not any(new.cues[cue] for cue in _CHANGES):
        return False
    shared = {
        word
        for word in (old.words & new.words) - _load_general_words()
        if (len(word) >= _SHORTEST or not word.isascii()) and not word.isdigit()
    }
    if len(shared) != 1:
        return bool(shared)
    return bool(old.topics & new.topics) or _has_other_value(old.text, new.text)


def _has_other_value(old_text: str, new_text: str) -> bool:
    """True if a number or a name beside the same word differs."""
    old_values = read_values(old_text)
    new_values = read_values(new_text)
    return any(
        old_values[key].isdisjoint(new_values[key]) for key in old_values.keys() & new_values.keys()
    )


@cache
def _load_general_words() -> frozenset[str]:
    return frozenset(terms(read_vocabulary(__file__, "general_words")))
