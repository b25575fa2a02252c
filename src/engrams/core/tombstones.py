"""Fields of a record that is forgotten, and of one that returns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from engrams.core.records import Record, Status
from engrams.errors import InputError

_STATUS = "was"
_RETIRED = "was_retired"
"""Metadata keys of a tombstone: former status, and when that ended."""


def bury(record: Record, at: datetime) -> dict[str, Any]:
    """Build the fields of a tombstone, which tells its former state."""
    former = {_RETIRED: record.retired_at.isoformat()} if record.retired_at else {}
    return {
        "status": Status.FORGOTTEN,
        "retired_at": at,
        "meta": {**record.meta, _STATUS: record.status.value, **former},
    }


def revive(record: Record) -> dict[str, Any]:
    """Build the fields that a tombstone had before.

    InputError: somebody edited its metadata, which tell no status or no time.
    """
    meta = {name: value for name, value in record.meta.items() if name not in (_STATUS, _RETIRED)}
    try:
        status = Status(record.meta.get(_STATUS, Status.ACTIVE))
        retired = None
        if _RETIRED in record.meta:
            retired = datetime.fromisoformat(record.meta[_RETIRED])
            retired = retired if retired.tzinfo else retired.replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise InputError(
            f"The memory {record.id} cannot return to what it was: {_STATUS!r} or {_RETIRED!r} of"
            " its metadata was edited.",
            hint=(
                "Edit its metadata: a status (active, superseded, archived), and an ISO time or"
                " nothing."
            ),
        ) from None
    return {"status": status, "retired_at": retired, "meta": meta}
