"""Tombstones: the fields of a record that is forgotten, and of one that is restored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from engrams.core.records import Record, Status
from engrams.errors import InputError

_STATUS = "was"
"""Metadata key of a tombstone: its former status."""
_RETIRED = "was_retired"
"""Metadata key of a tombstone: its former ``retired_at``."""


def build_tombstone(record: Record, at: datetime) -> dict[str, Any]:
    """Build the fields that forget a record; its metadata remembers the former state."""
    meta = {**record.meta, _STATUS: record.status.value}
    if record.retired_at is not None:
        meta[_RETIRED] = record.retired_at.isoformat()
    return {"status": Status.FORGOTTEN, "retired_at": at, "meta": meta}


def build_restored_fields(record: Record) -> dict[str, Any]:
    """Build the fields that a tombstone had before it was forgotten.

    InputError: somebody edited its metadata, so that the former status or time cannot be read.
    """
    meta = {name: value for name, value in record.meta.items() if name not in (_STATUS, _RETIRED)}
    try:
        status = Status(record.meta.get(_STATUS, Status.ACTIVE))
        retired_at = None
        if _RETIRED in record.meta:
            retired_at = datetime.fromisoformat(record.meta[_RETIRED])
            retired_at = retired_at if retired_at.tzinfo else retired_at.replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise InputError(
            f"The memory {record.id} cannot be restored to its earlier state: {_STATUS!r} or {_RETIRED!r} of"
            " its metadata was edited.",
            hint=(
                "Edit its metadata: a status (active, superseded, archived), and an ISO time or"
                " nothing."
            ),
        ) from None
    return {"status": status, "retired_at": retired_at, "meta": meta}
