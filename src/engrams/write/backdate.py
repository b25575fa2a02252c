"""Past values inserted into the history of a slot."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from engrams.types import Record, Status
from engrams.write.changeset import ChangeSet, derived_id
from engrams.write.reconcile import Reconciliation
from engrams.write.slots import canonical_predicate


def insert_past_value(outcome: Reconciliation, source: Record, changes: ChangeSet) -> Reconciliation:
    """Fit an older value between the known past values.

    It ends where the next value begins, and the value before it ends where it begins. The change set must hold the slot's superseded
    statements.
    """
    candidate = outcome.candidate
    begun = candidate.valid_from or candidate.said_at or source.recorded_at
    slot = [
        one
        for one in changes.current.values()
        if one.status is Status.SUPERSEDED
        and one.retired_at is None
        and one.subject == candidate.subject
        and canonical_predicate(one.predicate) == canonical_predicate(candidate.predicate)
    ]
    for one in slot:
        if one.valid_to is not None and _start_time(one) < begun < one.valid_to:
            changes.shorten_validity(one, begun, derived_id(candidate), source.recorded_at)
    after = min((one for one in slot if _start_time(one) > begun), key=_start_time, default=None)
    if after is None or outcome.until is None or _start_time(after) >= outcome.until:
        return outcome
    return replace(outcome, until=_start_time(after), after=after)


def _start_time(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
