"""Things that are no longer used: a message names the thing, and often what takes its place.

"rip out celery", "redux is too much for this, move to zustand". What was said of their use before
is over then, however little else the two messages share. Enter at ``names_abandoned`` and
``find_abandoned_use``; ``tells_use`` tells whether a clause uses a thing.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.text.clause_kinds import may_end
from engrams.text.clause_split import split_clauses
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_patterns
from engrams.write.change_detection.replacement_evidence import list_general_words

_ARTICLES = r"(?:the |our |die |den |das |unsere?n? |el |la |los |las |le |les |o |il )?"
_THING = _ARTICLES + r"([\w@][\w.+#/@-]*\w)"


def names_abandoned(text: str) -> bool:
    """True for a message that names a thing which is no longer used."""
    return bool(_list_abandoned(text))


def find_abandoned_use(old_text: str, new_text: str) -> tuple[str, str] | None:
    """Find the clause of an older message that tells the use of a thing, and the one that ends it."""
    for thing, end in _list_abandoned(new_text):
        if thing in (older for older, _ in _list_abandoned(old_text)):
            continue
        for clause in split_clauses(old_text):
            if may_end(clause) and tells_use(fold(clause), thing):
                return clause, _find_clause(new_text, end)
    return None


@text_cache(1 << 12)
def _list_abandoned(text: str) -> tuple[tuple[str, int], ...]:
    """List the things that a text abandons, each with the end of the words that say so.

    Cached: a message is compared with many. Positions are those of the folded text.
    """
    matches = _compile_forms().finditer(fold(text))
    abandoned = [(next(filter(None, match.groups())), match.end()) for match in matches]
    return tuple(
        (thing, end)
        for thing, end in abandoned
        if not list_general_words().issuperset(terms(thing))
    )


@cache
def _compile_forms() -> re.Pattern[str]:
    forms = read_patterns(__file__, "abandoned", "forms", thing=_THING)
    return re.compile(rf"\b{forms}")


@cache
def _load_uses() -> str:
    return read_patterns(__file__, "abandoned", "uses")


def tells_use(clause: str, thing: str) -> bool:
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
