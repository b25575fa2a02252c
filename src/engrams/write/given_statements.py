"""Statements that were given as such, and not extracted: they meet what is known like all others.

A given statement is stored at once with the slot that rules read in it (``annotate_given``). The
digest then makes it a candidate, hides it, lest it meet itself, and settles it: what it repeats
takes its place, what it ends is over, and what later statements did to it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engrams.core import DerivedMemory, EdgeType, Kind, Record, Status
from engrams.core.meta_keys import REINFORCEMENTS
from engrams.extract.candidate import CandidateStatement
from engrams.extract.statement_reader import read_statement
from engrams.frozen_data import replace
from engrams.settings import WriteSettings
from engrams.write.change_set import DigestChangeSet

_GIVEN_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
_ENDING_FIELDS = ("status", "valid_to", "ended_at", "retired_at", "superseded_by")
_REPEATED = "says what is known"


def select_given(records: Sequence[Record], settings: WriteSettings) -> list[Record]:
    """Return the given statements among records that are all statements, if these are compared.

    Among messages, given statements are what the messages are compared with. One that another job
    changed meanwhile is known by now.
    """
    if settings.reconcile == "off" or any(record.kind not in _GIVEN_KINDS for record in records):
        return []
    return [record for record in records if _is_given(record)]


def annotate_given(record: Record) -> Record:
    """Fill in the slot of a given statement as rules read it; its text stays as it was given.

    What the sender stated stays too. Where rules are not sure, nothing is filled in.
    """
    if record.kind not in _GIVEN_KINDS or record.predicate or record.evidence:
        return record
    candidate = read_statement(record)
    if not candidate.predicate:
        return record
    meta = dict(record.meta)
    if not candidate.polarity:
        meta.setdefault("polarity", False)
    if candidate.effect in ("ends", "corrects"):
        meta.setdefault("effect", candidate.effect)
    return replace(
        record,
        subject=record.subject or candidate.subject,
        predicate=candidate.predicate,
        object=record.object or candidate.object,
        category=record.category or candidate.category,
        meta=meta,
    )


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
        annotate_given(statement) if _is_given(statement) else statement for statement in unique
    ]


def hide_given(statements: Sequence[Record], changes: DigestChangeSet) -> None:
    """Hide statements from the comparison, lest each meet itself."""
    for record in statements:
        changes.current[record.id] = replace(record, status=Status.ARCHIVED)


def settle_given(
    statements: Sequence[Record],
    changes: DigestChangeSet,
    derived_by_source: Mapping[str, Sequence[DerivedMemory]],
) -> dict[str, str]:
    """Keep the stored records, with what later statements did to them.

    Returns the ids of known statements by the id of the given one that repeats it, and that they
    supersede.
    """
    repeated: dict[str, str] = {}
    for record in statements:
        # The digest made each anew, under its own id: only its end is taken over.
        remade = changes.created.pop(record.id, None)
        changes.originals[record.id] = record
        known_id = _find_known(derived_by_source.get(record.id, ()))
        # A record with its sender's id (an import, an item of a framework, an observation of a
        # graph) is asked for by that id, so it stays although a known statement says the same.
        if remade is None and known_id and not record.external_id:
            repeated[record.id] = known_id
            changes.current[record.id] = replace(
                record, status=Status.SUPERSEDED, superseded_by=known_id
            )
            changes.actions[record.id] = ("merge", _REPEATED)
            continue
        changes.current[record.id] = _take_over(record, remade) if remade else record
        changes.actions.setdefault(record.id, ("supersede", "a newer statement took its place"))
        changes.edges.pop((record.id, record.id, EdgeType.DERIVED_FROM), None)
    statement_ids = {record.id for record in statements}
    changes.derived = [
        derived
        for derived in changes.derived
        if derived.id not in statement_ids or derived.replaces or derived.verdict == "conflict"
    ]
    return repeated


def _take_over(record: Record, remade: Record) -> Record:
    """Return a given statement with what the digest did to the one that it made anew of it.

    Later statements of the digest may have ended it, or repeated it.
    """
    fields: dict[str, Any] = {name: getattr(remade, name) for name in _ENDING_FIELDS}
    fields["strength"] = record.strength + remade.strength - 1
    if REINFORCEMENTS in remade.meta:
        fields |= {
            "confidence": remade.confidence,
            "evidence": remade.evidence,
            "meta": {**record.meta, REINFORCEMENTS: remade.meta[REINFORCEMENTS]},
        }
    return replace(record, **fields)


def _find_known(derived: Sequence[DerivedMemory]) -> str:
    """Return the id of the known statement that a given one repeats; empty: none."""
    return next((memory.id for memory in derived if memory.verdict == "keep"), "")


def _is_given(record: Record) -> bool:
    return record.kind in _GIVEN_KINDS and not record.evidence and record.status is Status.ACTIVE
