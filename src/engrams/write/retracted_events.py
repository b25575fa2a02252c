"""Events that did not happen, and the statements that they had ended. Pure.

"I didn't move to Naples" retracts "I moved to Naples", and restores the home before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from engrams.core import Kind, Record, Status
from engrams.extract.candidate import CandidateStatement
from engrams.write.reconcile_rules import (
    ReconciliationResult,
    find_conflict,
    is_affirmative,
    is_ending,
    is_same_slot,
    object_terms,
)
from engrams.write.statement_times import is_announced


def find_denied(candidate: CandidateStatement, statements: Sequence[Record]) -> list[Record]:
    """Find the open statements of the event that a candidate denies.

    "I didn't move to Naples" denies "I moved to Naples", not "I live in Naples". A denial that
    names no object denies the latest event.
    """
    denied = [
        record
        for record in statements
        if is_same_slot(candidate, record)
        and is_affirmative(record)
        and not is_announced(record, candidate)
        and _is_of_event(candidate, record)
    ]
    if object_terms(candidate.object):
        return denied
    return sorted(denied, key=lambda record: record.story_key)[-1:]


def retract_denied(
    candidate: CandidateStatement, denied: list[Record], superseded: Iterable[Record]
) -> ReconciliationResult:
    """Retract the statements of an event, and restore those that it had ended.

    ``superseded``: records among which these are to be found.
    """
    if not denied:
        return ReconciliationResult("keep", candidate, reason="denies nothing known")
    if (conflict := find_conflict(candidate, denied)) is not None:
        return conflict
    ending_ids = {record.id for record in denied} | {
        item.source for record in denied for item in record.evidence
    }
    return ReconciliationResult(
        "replace",
        replace(candidate, effect="corrects", valid_from=None),
        tuple(denied),
        retract=True,
        reason="did not happen",
        restores=tuple(record for record in superseded if _was_ended_by(record, ending_ids)),
    )


def is_denial(record: Record) -> bool:
    """True for a stored statement that an event did not happen."""
    return record.meta.get("effect") == "corrects" and not is_affirmative(record)


def _is_of_event(candidate: CandidateStatement, record: Record) -> bool:
    """True if a statement tells of the event that the candidate denies."""
    denied_terms = object_terms(candidate.object)
    stated_terms = object_terms(record.object)
    length = min(len(denied_terms), len(stated_terms))
    denies_ending = candidate.effect == "ends"
    if denies_ending:
        is_event = is_ending(record)
    else:
        is_event = bool(record.meta.get("event")) or candidate.effect == "states"
    return (
        is_event
        and denies_ending == is_ending(record)
        and denied_terms[:length] == stated_terms[:length]
    )


def _was_ended_by(record: Record, ending_ids: Collection[str]) -> bool:
    return (
        record.status is Status.SUPERSEDED
        and record.superseded_by in ending_ids
        and record.retired_at is None
        and record.kind is not Kind.EXCHANGE
    )
