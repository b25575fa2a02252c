"""Things that are no longer used: a message names the thing, and often what takes its place.

"rip out celery", "redux is too much for this, move to zustand". What was said of their use before
is over then, however little else the two messages share. Enter at ``names_abandoned`` and
``find_abandoned_use``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engrams.text.clause_kinds import may_end
from engrams.text.clause_split import split_clauses
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.vocabulary import read_patterns
from engrams.write.change_detection.replacement_evidence import list_general_words

_ARTICLES = r"(?:the |our |die |den |das |unsere?n? |el |la |los |las |le |les |o |il )?"
_THING = _ARTICLES + r"([\w@][\w.+#/@-]*\w)"


def names_abandoned(text: str) -> bool:
    """True for a message that names a thing which is no longer used."""
    return any(_list_abandoned(fold(text)))


def find_abandoned_use(old_text: str, new_text: str) -> tuple[str, str] | None:
    """Find the clause of an older message that tells the use of a thing, and the one that ends it."""
    for thing, end in _list_abandoned(fold(new_text)):
        if thing in (older for older, _ in _list_abandoned(fold(old_text))):
            continue
        for clause in split_clauses(old_text):
            if may_end(clause) and _tells_use(fold(clause), thing):
                return clause, _find_clause(new_text, end)
    return None


def _list_abandoned(folded: str) -> Iterator[tuple[str, int]]:
    """Yield the things that a folded text abandons, each with the end of the words that say so."""
    for match in _compile_forms().finditer(folded):
        (thing,) = filter(None, match.groups())
        if not list_general_words().issuperset(terms(thing)):
            yield thing, match.end()


@cache
def _compile_forms() -> re.Pattern[str]:
    forms = read_patterns(__file__, "abandoned", "forms", thing=_THING)
    return re.compile(rf"\b{forms}")


@cache
def _load_uses() -> str:
    return read_patterns(__file__, "abandoned", "uses")


def _tells_use(clause: str, thing: str) -> bool:
    """True where a thing opens a folded clause, or stands behind a word of use or a colon."""
    use = rf"(?:^|[:=(,+]|\b{_load_uses()}\b)\s*(?:[\w-]+\s+){{0,2}}?{re.escape(thing)}(?!\w)"
    return re.search(use, clause.strip()) is not None


def _find_clause(text: str, end: int) -> str:
    """Find the clause of a text in whose folded form a position lies."""
    clauses = split_clauses(text)
    folded = fold(text)
    start = 0
    for clause in clauses:
        start = max(start, folded.find(fold(clause), start))
        if end <= start + len(fold(clause)):
            return clause
    return clauses[-1]
