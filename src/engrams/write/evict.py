"""Eviction of a turn from the working tier."""

from __future__ import annotations

from datetime import datetime

from engrams.ports import Change
from engrams.types import Record, Status, Tier


def evict_turn(record: Record, importance: float, promote: float, at: datetime) -> Change:
    """Keep the turn as recent from ``promote`` on; else archive it.
    An archived turn stays in the journal, and no read finds it (000)."""
    if importance >= promote:
        return Change(record.scope.owner, record.id, {"tier": Tier.RECENT}, "promote")
    fields = {"tier": Tier.RECENT, "status": Status.ARCHIVED, "retired_at": at}
    return Change(record.scope.owner, record.id, fields, "discard")
