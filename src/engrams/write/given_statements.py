"""Statements that were given as such, and not extracted, in the search for contradictions.

With ``write.contradiction_cosine`` they are compared like extracted ones, although they are stored
already: each is made a candidate, hidden from the comparison, lest it meet itself, and settled
afterwards with the changes that later statements made to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import EdgeType, Kind, Record, Status
from engrams.extract.candidate import CandidateStatement
from engrams.extract.statement_reader import read_statement
from engrams.settings import WriteSettings
from engrams.write.change_set import DigestChangeSet

_GIVEN_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
_ENDING_FIELDS = ("status", "valid_to", "ended_at", "retired_at", "superseded_by")


def select_given(records: Sequence[Record], settings: WriteSettings) -> list[Record]:
    """Return the records if all are given statements, and contradictions are looked for.

    Among messages, given statements are what the messages are compared with.
    """
    is_compared = bool(settings.contradiction_cosine) and settings.reconcile != "off"
    return list(records) if is_compared and all(map(_is_given, records)) else []


def to_candidate(record: Record) -> CandidateStatement:
    """Convert a given statement, which is stored, to a candidate."""
    return replace(
        read_statement(record),
        text=record.text,
        kind=record.kind,
        category=record.category,
        evidence=(),
        confidence=record.confidence,
        importance=record.importance,
        trust=record.trust,
        said_at=record.recorded_at,
        id=record.id,
    )


def fill_slots(statements: Sequence[Record]) -> list[Record]:
    """Fill the slots of given statements, to compare by them; each statement once."""
    unique = {statement.id: statement for statement in statements}.values()
    return [
        _fill_slot(statement) if _is_given(statement) and not statement.predicate else statement
        for statement in unique
    ]


def hide_given(statements: Sequence[Record], changes: DigestChangeSet) -> None:
    """Hide statements from the comparison, lest each meet itself."""
    for record in statements:
        changes.current[record.id] = replace(record, status=Status.ARCHIVED)


def settle_given(statements: Sequence[Record], changes: DigestChangeSet) -> None:
    """Keep the stored records, with what later statements did to them."""
    for record in statements:
        # The digest made each anew, under its own id: only its end is taken over.
        remade = changes.created.pop(record.id, record)
        changes.originals[record.id] = record
        changes.current[record.id] = replace(
            record, **{name: getattr(remade, name) for name in _ENDING_FIELDS}
        )
        changes.actions.setdefault(record.id, ("supersede", "a newer statement took its place"))
        changes.edges.pop((record.id, record.id, EdgeType.DERIVED_FROM), None)
    statement_ids = {record.id for record in statements}
    changes.derived = [
        derived
        for derived in changes.derived
        if derived.id not in statement_ids or derived.replaces
    ]


def _is_given(record: Record) -> bool:
    return record.kind in _GIVEN_KINDS and not record.evidence and record.status is Status.ACTIVE


def _fill_slot(record: Record) -> Record:
    candidate = read_statement(record)
    return replace(
        record,
        subject=candidate.subject,
        predicate=candidate.predicate,
        object=candidate.object,
    )
