"""Changes of a record's status: which may follow which, and what each implies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engrams.core import Record, Status
from engrams.errors import InputError

_FOLLOWS: Mapping[Status, frozenset[Status]] = {
    Status.CANDIDATE: frozenset(
        {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}
    ),
    Status.ACTIVE: frozenset({Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.FORGOTTEN}),
    # A tombstone may be undone into its former status.
    Status.FORGOTTEN: frozenset(
        {Status.CANDIDATE, Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
    ),
    # Only reached by a purge; final.
    Status.PURGED: frozenset(),
}


def apply_transition(record: Record, fields: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Complete new values of fields by what a new status among them implies.

    A superseded record must end in one of the two times, or a read of the past would still find it
    true today: unless ``valid_to`` or ``retired_at`` is given it is retired now. An active one is
    no longer retired. InputError: that status cannot follow.
    """
    completed = dict(fields)
    status = completed.get("status", record.status)
    if status is record.status:
        return completed
    if status not in _FOLLOWS[record.status]:
        raise InputError(
            f"A record that is {record.status} cannot become {status}.",
            hint="Use purge to erase a record." if status is Status.PURGED else "",
        )
    if status is Status.SUPERSEDED and completed.get("valid_to", record.valid_to) is None:
        completed.setdefault("retired_at", record.retired_at or at)
    if status is Status.ACTIVE:
        completed.setdefault("retired_at", None)
    return completed
