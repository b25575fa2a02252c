"""The place of a turn that leaves the working tier."""

from __future__ import annotations

from datetime import datetime

from engrams.core import Record, Status, Tier
from engrams.ports import RecordChange


def evict_turn(record: Record, promote_importance: float, now: datetime) -> RecordChange:
    """Move an evicted turn to the recent tier or archive it.

    An important turn (at least ``promote_importance``, 0..1) goes to the recent tier. Any other is
    archived: it stays in the journal, and no read finds it.
    """
    if record.importance >= promote_importance:
        return RecordChange(record.scope.owner, record.id, {"tier": Tier.RECENT}, "promote")
    fields = {"tier": Tier.RECENT, "status": Status.ARCHIVED, "retired_at": now}
    return RecordChange(record.scope.owner, record.id, fields, "discard")
