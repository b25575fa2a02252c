"""Check a segment of somebody else before any of it is used.

In a space a segment is written by another person's program, which may write anything that its keys sign.
"""

from __future__ import annotations

from engrams.core import Scope
from engrams.errors import InputError
from engrams.sync.record_state import join_record, unpack_stamps
from engrams.sync.segments import AppliedSegments, Segment

_MAX_NUMBERS = 1_000_000
"""Numbers of segments that one segment may name."""


def check_segment(segment: Segment, owner: Scope) -> None:
    """InputError: the segment does not hold what segments hold."""
    try:
        is_text = all(isinstance(item, str) for item in (segment.label, segment.written_at))
        is_text &= all(isinstance(record_id, str) for record_id in segment.purged_ids)
        runs = (*segment.retired, *segment.lost)
        total = sum(last - first for first, last in runs)
        AppliedSegments(segment.applied)
        for item in segment.records:
            join_record(unpack_stamps(str(item["id"]), item["values"], item["stamps"]), owner)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise InputError(f"A segment holds something else: {type(problem).__name__}.") from None
    if not is_text or total > _MAX_NUMBERS or any(first < 1 for first, _ in runs):
        raise InputError("A segment holds something else.")
