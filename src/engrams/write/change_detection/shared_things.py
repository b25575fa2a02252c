"""Sentences about a thing that the members of a space share: another member may tell its change.

What members say of themselves, of relatives, or of "us" is theirs: a team's members live in many
homes, and each has a mother. So is a sentence that leaves its subject out ("Moved to Rome.").
"""

from __future__ import annotations

from engrams.core import Record
from engrams.text.line_voice import names_kin, names_oneself
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.times import detect_language
from engrams.text.vocabulary import word_set
from engrams.write.change_detection.cue_words import NAMES, count_cues

_SPACE = "space"
_HEADS = word_set(
    "the this these those der die das dieser diese dieses le la les l ce cet cette ces"
)
"""Words that begin a sentence about a thing: "the bins"."""
_SUBJECT_LANGUAGES = ("en", "de", "fr")
"""Languages that say whom a sentence is about; the others leave "I" out."""
_OTHER = NAMES.index("other")


def is_in_space(record: Record) -> bool:
    """True for a record of a memory that several people share."""
    return record.scope.labels[0] == _SPACE


def tell_of_shared_thing(first: Record, second: Record) -> bool:
    """True for two sentences of a space that begin with one thing, which is nobody's own."""
    if not (is_in_space(first) and first.role == second.role):
        return False
    lead = _find_lead(first.text)
    return bool(lead) and lead == _find_lead(second.text)


def _find_lead(text: str) -> tuple[str, ...]:
    """Find the thing that a sentence begins with; empty where it tells of a person."""
    words = text.replace("’", "'").replace("'", " ").split(maxsplit=2)
    if words[:1] and words[0].lower() in _HEADS:
        del words[0]
    if not words or detect_language(text) not in _SUBJECT_LANGUAGES:
        return ()
    folded = fold(text)
    is_personal = count_cues(text)[_OTHER] or names_oneself(folded) or names_kin(folded)
    return () if is_personal else tuple(terms(words[0]))
