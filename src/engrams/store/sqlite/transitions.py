"""Allowed status transitions of a record, and their consequences."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engrams.errors import InputError
from engrams.types import Record, Status

_FOLLOWS: Mapping[Status, frozenset[Status]] = {
    Status.CANDIDATE: frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.ACTIVE: frozenset({Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.FORGOTTEN}),
    # A tombstone may be undone into its former status.
    Status.FORGOTTEN: frozenset({Status.CANDIDATE, Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}),
    # Only reached by a purge; final.
    Status.PURGED: frozenset(),
}


def apply_transition(record: Record, fields: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Complete ``fields`` by what a new status implies.

    InputError: that status cannot follow. A superseded record must end in one of the two times, or a read of the past would still
    find it true today: unless ``valid_to`` or ``retired_at`` is given it is retired now. An active one is no longer retired.
    """
    moved = dict(fields)
    status = moved.get("status", record.status)
    if status is record.status:
        return moved
    if status not in _FOLLOWS[record.status]:
        raise InputError(
            f"A record that is {record.status} cannot become {status}.",
            hint="Use purge to erase a record." if status is Status.PURGED else "",
        )
    if status is Status.SUPERSEDED and moved.get("valid_to", record.valid_to) is None:
        moved.setdefault("retired_at", record.retired_at or at)
    if status is Status.ACTIVE:
        moved.setdefault("retired_at", None)
    return moved
