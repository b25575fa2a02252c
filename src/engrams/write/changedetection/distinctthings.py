"""Things of one kind told apart by a number or a place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.textcaches import text_cache
from engrams.write.changedetection.pairfeatures import NAMES

if TYPE_CHECKING:
    from engrams.write.changedetection.pairfeatures import MessageFeatures

_ARTICLE = r"(?i:the|our|my|der|die|das|unser\w*|mein\w*|el|la|los|las|mi|nuestr\w+|le|les|mon|ma|notre)"
_SUBJECT = re.compile(
    rf"\W*(?:{_ARTICLE}\s+(?P<there>[^\W\d]+)\s+(?:in|at|of|von|aus|en|de|à)\s+(?P<place>[A-ZÄÖÜÉ]\w+)"
    rf"|(?:{_ARTICLE}\s+)?(?P<kind>[^\W\d]+)\s+(?:no\.?\s*|number\s+|nr\.?\s*|#)?(?P<number>\d+|[A-Z]))(?=[\s:])"
)
# Of these a later one takes the place of the one before.
_FOLLOWING = frozenset(("version", "release", "draft", "update", "build", "edition", "entwurf", "fassung", "borrador"))
_CHANGES = tuple(
    NAMES.index(name) for name in ("switch", "no_more", "now", "correction", "new", "instead", "from_now", "finally", "back", "old")
)


def is_about_another(old: MessageFeatures, new: MessageFeatures) -> bool:
    """True where two sentences tell of two things of one kind.

    "Crate 0 holds ropes" and "Crate 1 holds lamps", "our depot in Lille …" and "our depot in Metz …". Not where the newer one names the
    older thing, speaks of a change, or says the very same of another ("Room 12 is ours", "Room 14 is ours")."""
    if len(old.clauses) > 1 or len(new.clauses) > 1 or any(new.whole.cues[place] for place in _CHANGES):
        return False
    one, other = _find_subject(old.text), _find_subject(new.text)
    if not one or not other or one[0] != other[0] or one[1] == other[1] or one[0] in _FOLLOWING:
        return False
    return one[2] != other[2] and not re.search(rf"\b{re.escape(one[1])}\b", fold(new.text))


@text_cache(1 << 12)
def _find_subject(text: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Find a thing: its kind, its label, the terms after it."""
    found = _SUBJECT.match(text)
    if found is None:
        return None
    return fold(found["there"] or found["kind"]), fold(found["place"] or found["number"]), tuple(terms(text[found.end() :]))
