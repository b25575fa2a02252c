"""Events that did not happen, and what they had ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from engrams.core import Kind, Record, Status
from engrams.extract.candidate import CandidateStatement
from engrams.write.reconcile import (
    ReconciliationResult,
    find_conflict,
    is_affirmative,
    is_ending,
    is_same_slot,
    object_terms,
)
from engrams.write.statement_times import is_announced


def find_denied(candidate: CandidateStatement, known: Sequence[Record]) -> list[Record]:
    """Find the open statements of the event that a candidate denies.

    "I didn't move to Naples" denies "I moved to Naples", not "I live in Naples".
    """
    found = [
        record
        for record in known
        if is_same_slot(candidate, record)
        and is_affirmative(record)
        and not is_announced(record, candidate)
        and _tells_of_event(candidate, record)
    ]
    return (
        found
        if object_terms(candidate.object)
        else sorted(found, key=lambda record: record.story_key)[-1:]
    )


def _tells_of_event(candidate: CandidateStatement, record: Record) -> bool:
    said = object_terms(candidate.object)
    told = object_terms(record.object)
    most = min(len(said), len(told))
    ends = candidate.effect == "ends"
    event = (
        is_ending(record)
        if ends
        else bool(record.meta.get("event")) or candidate.effect == "states"
    )
    return event and ends == is_ending(record) and said[:most] == told[:most]


def retract_denied(
    candidate: CandidateStatement, denied: list[Record], ended: Iterable[Record]
) -> ReconciliationResult:
    """Retract the statements of an event, and restore what it had ended.

    ``ended``: superseded records, where they are to be found.
    """
    if not denied:
        return ReconciliationResult("keep", candidate, reason="denies nothing known")
    if (held := find_conflict(candidate, denied)) is not None:
        return held
    by = {record.id for record in denied} | {
        item.source for record in denied for item in record.evidence
    }
    return ReconciliationResult(
        "replace",
        replace(candidate, effect="corrects", valid_from=None),
        tuple(denied),
        retract=True,
        reason="did not happen",
        restores=tuple(one for one in ended if _was_ended(one, by)),
    )


def _was_ended(record: Record, by: Collection[str]) -> bool:
    return (
        record.status is Status.SUPERSEDED
        and record.superseded_by in by
        and record.retired_at is None
        and record.kind is not Kind.EXCHANGE
    )


def is_denial(record: Record) -> bool:
    """True for a stored statement that an event did not happen."""
    return record.meta.get("effect") == "corrects" and not is_affirmative(record)
