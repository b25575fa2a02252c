"""Stored statements whose slot has another name for the same property: ``car`` and ``vehicle``.

Enter at ``find_synonyms``. An embedder compares the names.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Record
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import SINGLE, canonical_predicate
from engrams.ports import Embedder
from engrams.text.terms import terms

_MAX_COMPARED = 50
"""Statements compared with one candidate."""
# Position of the floor between the card's "related" (0) and "duplicate" (1). Measured with the
# built-in model on fifty pairs: half way lets car/vehicle and doctor/physician through and keeps
# breakfast/lunch and mother/father apart.
_FLOOR_POSITION = 0.5


def has_comparable_slot(candidate: CandidateStatement, embedder: Embedder) -> bool:
    """True for a slot of one value whose name the embedder can compare."""
    return (
        candidate.single
        and candidate.effect != "ends"
        and bool(_slot_name(candidate.subject, candidate.predicate))
        and embedder.card.floors.keys() >= {"related", "duplicate"}
    )


def find_synonyms(
    candidate: CandidateStatement, statements: Sequence[Record], embedder: Embedder
) -> tuple[Record, ...]:
    """Find the statements whose slot name is a synonym of the candidate's.

    The candidate must have a slot to compare (``has_comparable_slot``). A synonym has the same
    holder and shares no word with the name: two names that share one differ by the rest of it, as
    ``work phone`` and ``home phone`` do. Raises ModelError.
    """
    name = _slot_name(candidate.subject, candidate.predicate)
    holder = _slot_holder(candidate.subject, candidate.predicate)
    name_terms = set(terms(name))
    slots = [
        (record, record_slot)
        for record in statements[:_MAX_COMPARED]
        if (record_slot := _slot_name(record.subject, record.predicate))
        and _slot_holder(record.subject, record.predicate) == holder
        and name_terms.isdisjoint(terms(record_slot))
    ]
    if not slots:
        return ()
    floors = embedder.card.floors
    floor = floors["related"] + _FLOOR_POSITION * (floors["duplicate"] - floors["related"])
    rows = embedder.embed([name, *(record_slot for _, record_slot in slots)])
    return tuple(
        record
        for (record, _), row in zip(slots, rows[1:], strict=True)
        if float(row @ rows[0]) >= floor
    )


def _slot_name(subject: str, predicate: str) -> str:
    """Return the words that name a slot; empty for built-in predicates."""
    canonical = canonical_predicate(predicate)
    if canonical == "is":
        return subject.rpartition("'s ")[2]
    if canonical in SINGLE or canonical.startswith("favorite_"):
        return ""
    return canonical.replace("_", " ")


def _slot_holder(subject: str, predicate: str) -> str:
    """Return the possessor of a slot: ``user`` for ``user's car``."""
    if canonical_predicate(predicate) != "is":
        return subject
    return subject.rpartition("'s ")[0] or "the"
