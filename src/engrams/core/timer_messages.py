"""Messages that a timer sent, not a person, and what was answered to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core.records import Kind, Record

SCHEDULED = "scheduled"
"""On a message that a timer sent."""

_TIMER_TAG = re.compile(r"\s*\[scheduled\b[^\]\n]*\]", re.IGNORECASE)
"""Mark with which agents begin the message of a timer: "[SCHEDULED] Send the report"."""


def drop_timer_turns(records: Sequence[Record]) -> list[Record]:
    """Leave out turns that a timer sent, with what tools and the assistant answered to them.

    Sessions run side by side: a turn of one session ends no answer in another.
    """
    turns: list[Record] = []
    timer_sessions: set[str] = set()
    for record in records:
        if _is_from_timer(record):
            timer_sessions.add(record.session)
            continue
        if record.session in timer_sessions and record.role in ("assistant", "tool"):
            continue
        timer_sessions.discard(record.session)
        turns.append(record)
    return turns


def _is_from_timer(record: Record) -> bool:
    is_marked = record.meta.get(SCHEDULED) or _TIMER_TAG.match(record.text)
    return record.kind is Kind.TURN and bool(is_marked)
