"""A statement that says again what an earlier one says: enter at ``says_again``."""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern

_LONGEST = 300
"""Characters of a statement that is compared."""
_DENIAL = re.compile(
    r"\b(?:not|never|no|none|without|nicht|kein\w*|nie|niemals|ohne|pas|jamais|plus|aucun\w*|sans|nunca|jamas|sin|nao|non|piu"
    r"|hardly|barely|kaum|anymore|longer|mehr)\b|n['’]t\b|[不没未无]|ない|ません|なく"
)
_PAST = re.compile(
    r"\b(?:used to|was|were|had|war|waren|warst|hatte\w*|etai\w+|avai\w+|era|eran|eramos|fui|fue|estaba\w*|tenia\w*)\b"
    r"|でした|だった|ました|以前|曾"
)
"""Words by which a statement tells what is over: "I used to live in Porto"."""


def denies(text: str) -> bool:
    """True for a text with a word that denies something."""
    return _DENIAL.search(fold(text)) is not None


def says_again(earlier: str, later: str) -> bool:
    """True if a later statement has the words of the earlier one, but for words of time.

    "These days I live in Porto" says again "I live in Porto". Neither may deny anything, nor may the
    later one tell what was so before.
    """
    if max(len(earlier), len(later)) > _LONGEST or denies(earlier) or denies(later):
        return False
    if _PAST.search(fold(later)):
        return False
    told_terms = _list_lasting_terms(earlier)
    return bool(told_terms) and told_terms == _list_lasting_terms(later)


@text_cache(1 << 12)
def _list_lasting_terms(text: str) -> frozenset[str]:
    """List the search terms of a statement without those of "now", "still" and how long.

    Cached: a message is compared with many.
    """
    lasting = word_pattern(__file__, "as_before").sub("", fold(text))
    return frozenset(terms(lasting))
