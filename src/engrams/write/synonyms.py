"""Synonymous slots (my car, my vehicle), matched by embeddings."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.ports import Embedder
from engrams.text.terms import terms
from engrams.types import Record
from engrams.write.candidate import Candidate
from engrams.write.slots import SINGLE, canonical_predicate

_MOST = 50
# Position of the floor between the card's "related" (0) and "duplicate" (1). Measured with the built-in model on fifty pairs:
# half way lets car/vehicle and doctor/physician through and keeps breakfast/lunch and mother/father apart.
_SHARE = 0.5


def has_synonyms(candidate: Candidate, embedder: Embedder) -> bool:
    """True if the candidate's slot has one value, a name of its own, and floors to compare it by."""
    return (
        candidate.single
        and candidate.effect != "ends"
        and bool(_slot_name(candidate.subject, candidate.predicate))
        and embedder.card.floors.keys() >= {"related", "duplicate"}
    )


def find_synonyms(candidate: Candidate, known: Sequence[Record], embedder: Embedder) -> tuple[Record, ...]:
    """Find records whose slot name is a synonym of the candidate's.

    The candidate must have a slot to compare (``has_synonyms``). Others need names of their own and the same owner of the slot; names
    that share a word differ by the rest of it: ``work phone`` is not ``home phone``. Raises ModelError.
    """
    floors = embedder.card.floors
    name = _slot_name(candidate.subject, candidate.predicate)
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
    """Name of the slot; empty for built-in predicates."""
    canonical = canonical_predicate(predicate)
    if canonical == "is":
        return subject.rpartition("'s ")[2]
    return "" if canonical in SINGLE or canonical.startswith("favorite_") else canonical.replace("_", " ")


def _slot_holder(subject: str, predicate: str) -> str:
    """Owner of the slot: ``user`` for ``user's car``."""
    if canonical_predicate(predicate) != "is":
        return subject
    return subject.rpartition("'s ")[0] or "the"
