"""A value of the past among those of the past: statements need not come in the order in which they were true."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from engrams.types import Record, Status
from engrams.write.changeset import Ledger, derived_id
from engrams.write.reconcile import Meeting
from engrams.write.slots import same


def placed(meeting: Meeting, source: Record, ledger: Ledger) -> Meeting:
    """The meeting of an older value, ending where the next one begins; the value before it is made to end where this one begins.

    The ledger must know the slot's superseded statements.
    """
    candidate = meeting.candidate
    begun = candidate.valid_from or candidate.said_at or source.recorded_at
    slot = [
        one
        for one in ledger.seen.values()
        if one.status is Status.SUPERSEDED
        and one.retired_at is None
        and one.subject == candidate.subject
        and same(one.predicate) == same(candidate.predicate)
    ]
    for one in slot:
        if one.valid_to is not None and _start(one) < begun < one.valid_to:
            ledger.shorten(one, begun, derived_id(candidate), source.recorded_at)
    after = min((one for one in slot if _start(one) > begun), key=_start, default=None)
    if after is None or meeting.until is None or _start(after) >= meeting.until:
        return meeting
    return replace(meeting, until=_start(after), after=after)


def _start(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
