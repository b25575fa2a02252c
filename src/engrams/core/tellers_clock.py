"""Times on the clock of whoever told a memory.

A day that readers see is the day that its teller had: "yesterday" is counted from it.
"""

from __future__ import annotations

from datetime import datetime

from engrams.core.clock import local_time
from engrams.core.meta_keys import UTC_OFFSET
from engrams.core.records import Record


def told_at(record: Record) -> datetime:
    """Return when a memory was told, on the clock of its teller; in UTC where that is unknown."""
    return on_tellers_clock(record, record.recorded_at)


def on_tellers_clock(record: Record, moment: datetime) -> datetime:
    """Return a time on the clock of whoever told a memory."""
    return local_time(moment, record.meta.get(UTC_OFFSET))
