"""Slots that mean the same in other words: my car and my vehicle. Told by vectors of their names, never by names alike."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.ports import Embedder
from engrams.text.terms import terms
from engrams.types import Record
from engrams.write.candidate import Candidate
from engrams.write.slots import SINGLE, canonical_predicate

_MOST = 50
# How far from the card's "related" towards its "duplicate" two names must lie. Measured with the built-in model on fifty pairs:
# half way lets car/vehicle and doctor/physician through and keeps breakfast/lunch and mother/father apart.
_SHARE = 0.5


def find_synonyms(candidate: Candidate, known: Sequence[Record], embedder: Embedder) -> tuple[Record, ...]:
    """The records whose slot means the same as the candidate's in other words; empty where the model's card has no floors.

    Only slots of one value with names of their own are compared, for the same owner of the slot, and names that share a word
    are taken to differ by the rest of it: ``work phone`` is not ``home phone``. Raises ModelError.
    """
    floors = embedder.card.floors
    name = _slot_name(candidate.subject, candidate.predicate)
    if not candidate.single or not name or "related" not in floors or "duplicate" not in floors:
        return ()
    floor = floors["related"] + _SHARE * (floors["duplicate"] - floors["related"])
    holder = _slot_holder(candidate.subject, candidate.predicate)
    words = set(terms(name))
    others = [
        (record, other)
        for record in known[:_MOST]
        if (other := _slot_name(record.subject, record.predicate))
        and _slot_holder(record.subject, record.predicate) == holder
        and not words & set(terms(other))
    ]
    if not others:
        return ()
    rows = embedder.embed([name, *(other for _, other in others)])
    return tuple(record for (record, _), row in zip(others, rows[1:], strict=True) if float(row @ rows[0]) >= floor)


def _slot_name(subject: str, predicate: str) -> str:
    """What the slot is called: an attribute's predicate, or the thing that ``is`` something; empty for predicates known by heart."""
    canonical = canonical_predicate(predicate)
    if canonical == "is":
        return subject.rpartition("'s ")[2]
    return "" if canonical in SINGLE or canonical.startswith("favorite_") else canonical.replace("_", " ")


def _slot_holder(subject: str, predicate: str) -> str:
    """Whose slot it is: of ``user's car`` the user."""
    if canonical_predicate(predicate) != "is":
        return subject
    return subject.rpartition("'s ")[0] or "the"
