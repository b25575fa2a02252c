"""Answers of a model that has nothing to write down, in whatever words and language.

Enter at ``says_nothing``. Such a line speaks of notes and of nothing: "Keine besonderen Ereignisse."
"""

from __future__ import annotations

from engrams.text.closed_vocabulary import load_closed_vocabulary
from engrams.text.terms import tokens

_LONGEST = 120
"""Characters of the longest line that is looked at."""


def says_nothing(line: str) -> bool:
    """Return True for a line of a model that has nothing to write down."""
    if not any(map(str.isalnum, line)):
        return True
    if len(line) > _LONGEST:
        return False
    vocabulary = load_closed_vocabulary(__file__, "nothing")
    words = tokens(line.replace("/", ""))
    denies = vocabulary.holds_one(words, "nothing") or vocabulary.holds_one(words, "negation")
    return denies and vocabulary.holds_all(words)


def begins_with_nothing(line: str) -> bool:
    """Return True for a line that says in more words that there is nothing: "None to note"."""
    first_words = tokens(line)[:1]
    return load_closed_vocabulary(__file__, "nothing").holds_one(first_words, "nothing")
