"""Things of one kind, told apart by number, place or name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary
from engrams.write.change_detection import identifiers
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.features import PEOPLE

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageFeatures

_ARTICLE = (
    r"(?i:the|our|my|der|die|das|unser\w*|mein\w*|el|la|los|las|mi|nuestr\w+|le|les|mon|ma|notre)"
)
_SUBJECT = re.compile(
    rf"\W*(?:{_ARTICLE}\s+(?P<there>[^\W\d]+)\s+(?:in|at|of|von|aus|en|de|à)\s+(?P<place>[A-ZÄÖÜÉ]\w+)"
    rf"|(?:{_ARTICLE}\s+)?(?P<kind>[^\W\d]+)\s+(?:no\.?\s*|number\s+|nr\.?\s*|#)?(?P<number>\d+|[A-Z]))(?=[\s:])"
)
# Of these a later one takes the place of the one before.
_FOLLOWING = frozenset(
    ("version", "release", "draft", "update", "build", "edition", "entwurf", "fassung", "borrador")
)
_CHANGES = tuple(
    NAMES.index(name)
    for name in (
        "switch",
        "no_more",
        "now",
        "correction",
        "new",
        "instead",
        "from_now",
        "finally",
        "back",
        "old",
    )
)


# Words that name members of one kind; members of one line are the same.
_MEMBERS = tuple(
    tuple(frozenset(line.split()) for line in kind.strip().splitlines())
    for kind in (
        read_vocabulary(__file__, "members_relatives"),
        read_vocabulary(__file__, "members_days"),
    )
)
_VERB_WORDS = read_vocabulary(__file__, "verb_words")
_VERBS = frozenset(_VERB_WORDS.split())
_WORDS = re.compile(r"[^\W_]+(?:'s)?")
_LEADING = re.compile(rf"\W*(?:(?:on|in|at|am|im|el|los) )?(?:{_ARTICLE} )?", re.IGNORECASE)
_MOST_APART = 2
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_PARTNER_WORDS = """
    husband wife girlfriend boyfriend partner frau mann freund mujer marido novi femme mari copin copine 老公 老婆 夫 妻
"""
_PARTNERS = frozenset(_PARTNER_WORDS.split())


_PLACED = re.compile(
    r"\s(?:is|are|sits|stands|lies|ist|liegt|steht|est|esta) (?:in|at|on|im|am|auf|en|a|dans|sur) "
)


# In folded text. English has no need of it.
_MOVED = re.compile(r"\bnach \w+ (?:um)?gezogen\b|\bdemenag|\bmud(?:o|ado)\b|に引っ越")


def is_about_another(old: MessageFeatures, new: MessageFeatures) -> bool:
    """True where two sentences tell of two things of one kind.

    "Crate 0 holds ropes" and "Crate 1 holds lamps", "our depot in Lille …" and "our depot in Metz
    …", "the staging DB is …" and "the production DB is …", "my number is …" and "mum's number is
    …". Not where the newer one names the older thing, speaks of a change, or says the very same of
    another ("Room 12 is ours", "Room 14 is ours").
    """
    changes = any(new.whole.cues[place] for place in _CHANGES)
    if identifiers.tell_apart(old.text, new.text, changes=changes):
        return True
    if len(old.clauses) > 1 or len(new.clauses) > 1:
        return False
    if _tells_of_a_move(old, new):
        return True
    if changes:
        return False
    if _tells_of_another_person(old, new):
        return True
    one = _find_subject(old.text)
    other = _find_subject(new.text)
    if not one or not other:
        return _are_told_apart(_split_words(old.text), _split_words(new.text))
    if one[0] != other[0] or one[1] == other[1] or one[0] in _FOLLOWING:
        return False
    return one[2] != other[2] and not re.search(rf"\b{re.escape(one[1])}\b", fold(new.text))


def is_placed_anew(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if a labelled thing is in another place.

    "Crate 0 is in the cellar", "crate 0 is in the attic".
    """
    if len(old.clauses) > 1 or len(new.clauses) > 1:
        return False
    one = _find_subject(old.text)
    other = _find_subject(new.text)
    if not one or not other or one[:2] != other[:2]:
        return False
    return one[2] != other[2] and bool(
        _PLACED.search(fold(old.text)) and _PLACED.search(fold(new.text))
    )


def _tells_of_another_person(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if the subject is somebody whom the older sentence leaves out.

    "My flight is …", "my brother's flight is …". Not with the partner, nor where the speaker is
    told of too: with both, something of the speaker's may have changed.
    """
    found = PEOPLE.match(fold(new.text))
    if (
        found is None
        or old.people
        or not new.people.isdisjoint(_PARTNERS)
        or new.whole.cues[_SELF] > (found["who"] is not None)
    ):
        return False
    return old.whole.cues[_SELF] > 0 and not new.people & {
        word for name in old.names for word in (name, name[:-1])
    }


def _tells_of_a_move(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if somebody of whom the older sentence does not tell moved.

    "Meine Schwester ist nach Hamburg gezogen", "妹が大阪に引っ越しました".
    """
    text = fold(new.text)
    found = PEOPLE.match(text)
    if (
        found is None
        or found[0].endswith("の")
        or not _MOVED.search(text)
        or old.people
        or old.whole.cues[_OTHER]
    ):
        return False
    return new.whole.cues[_SELF] <= (found["who"] is not None) and new.people.isdisjoint(_PARTNERS)


def _split_words(text: str) -> list[str]:
    """Split a sentence into folded words, without the article before its subject."""
    return _WORDS.findall(fold(_LEADING.sub("", text, count=1)))


def _are_told_apart(old: list[str], new: list[str]) -> bool:
    """True where subjects differ before a shared word, and rests differ.

    "staging DB is …" and "production DB is …"; members of a kind ("my mother", "my father") need
    share no word.
    """
    start = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0
    )
    ends = (
        (i, j)
        for i in range(start + 1, start + _MOST_APART + 1)
        for j in range(start + 1, start + _MOST_APART + 1)
    )
    end = next(((i, j) for i, j in ends if old[i : i + 1] == new[j : j + 1] != []), None)
    if start > 1 or end is None:
        return False
    was = old[start : end[0]]
    now = new[start : end[1]]
    rest = old[end[0] :]
    told = new[end[1] :]
    if (
        set(rest) <= set(told)
        or set(told) <= set(rest)
        or set(was) & set(new)
        or rest[0] in _FOLLOWING
    ):
        return False
    return _are_members(was[-1], now[-1]) or (
        rest[0] not in _VERBS and not _VERBS.isdisjoint(rest[1:3])
    )


def _are_members(one: str, other: str) -> bool:
    """True for two members of one kind."""
    return any(
        one in line and any(other in also for also in kind if also is not line)
        for kind in _MEMBERS
        for line in kind
    )


@text_cache(1 << 12)
def _find_subject(text: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Find a thing: its kind, its label, the terms after it."""
    found = _SUBJECT.match(text)
    if found is None:
        return None
    return (
        fold(found["there"] or found["kind"]),
        fold(found["place"] or found["number"]),
        tuple(terms(text[found.end() :])),
    )
