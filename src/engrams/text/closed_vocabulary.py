"""Word tables that a text is compared with as a whole: does it hold anything else? Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from engrams.text.late_patterns import holds_any
from engrams.text.stopwords import STOP
from engrams.text.terms import is_unspaced
from engrams.text.vocabulary import read_classes

_UNSPACED = "unspaced-"
_BEGINNING = 4
"""Characters of a word that a text is looked through for."""


class ClosedVocabulary:
    """Classes of words, of which some texts consist as a whole.

    In the table, a class ``unspaced-NAME`` holds what the class NAME has in Chinese and Japanese.
    """

    def __init__(self, classes: dict[str, frozenset[str]]) -> None:
        """Set up the vocabulary. ``classes``: words by the name of their class."""
        self._spaced = {
            name: words for name, words in classes.items() if not name.startswith(_UNSPACED)
        }
        unspaced = {
            name.removeprefix(_UNSPACED): words
            for name, words in classes.items()
            if name.startswith(_UNSPACED)
        }
        self._beginnings = {
            name: tuple({word[:_BEGINNING] for word in words} | unspaced.get(name, frozenset()))
            for name, words in self._spaced.items()
        }
        self._all_spaced = STOP.union(*self._spaced.values())
        self._unspaced = {name: _compile_any(words) for name, words in unspaced.items()}
        every_word = frozenset[str]().union(*unspaced.values())
        self._all_unspaced = re.compile(f"(?:{_compile_any(every_word).pattern})*")

    def may_hold(self, folded: str, name: str) -> bool:
        """False for a folded text without the beginning of any word of a class; cheap."""
        return holds_any(folded, self._beginnings.get(name, ()))

    def holds_all(self, words: Sequence[str]) -> bool:
        """True if each of ``words``, as ``tokens`` gives them, is here or a function word."""
        spaced, unspaced = _part(words)
        return spaced <= self._all_spaced and self._all_unspaced.fullmatch(unspaced) is not None

    def holds_one(self, words: Sequence[str], name: str) -> bool:
        """True if one of ``words`` is in a class."""
        spaced, unspaced = _part(words)
        pattern = self._unspaced.get(name)
        is_among_unspaced = pattern is not None and pattern.search(unspaced) is not None
        return is_among_unspaced or not spaced.isdisjoint(self._spaced.get(name, ()))


@cache
def load_closed_vocabulary(module_file: str, table: str) -> ClosedVocabulary:
    """Load a table of named word lists from the folder ``vocabulary`` beside a module."""
    return ClosedVocabulary(read_classes(module_file, table))


def _part(words: Sequence[str]) -> tuple[frozenset[str], str]:
    """Part words by script: a set of those with blanks between them, and the others joined."""
    spaced = frozenset(word.replace("'", "") for word in words if not is_unspaced(word))
    return spaced, "".join(filter(is_unspaced, words))


def _compile_any(words: Collection[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest_first)))
