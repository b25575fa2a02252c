"""Copy of the crisis and feedback logs, with their hash key."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.errors import ConflictError
from engrams.ports import SessionLogSearch, SessionLogTable

_TOGETHER = 5_000
_ENDS = 1 << 62
"""Microseconds that no record is beyond, before and after 1970."""


def copy_session_logs(
    sources: Sequence[SessionLogTable], targets: Sequence[SessionLogTable]
) -> int:
    """Copy all records of logs that have one key; their number.

    Records that are there already stay once. ConflictError: the target has records whose hashes
    have another key.
    """
    key = next((key for source in sources if (key := source.find_key())), b"")
    if not key:
        return 0
    for target in targets:
        if target.find_key() != key:
            if any(
                one.find(SessionLogSearch(-_ENDS, _ENDS, limit=1)) for one in targets if one.exists
            ):
                raise ConflictError(
                    "The safety and feedback logs there are of another memory.",
                    hint="Move into an empty store.",
                )
            target.save_key(key)
    return sum(
        _copy_log(source, target)
        for source, target in zip(sources, targets, strict=True)
        if source.exists
    )


def _copy_log(source: SessionLogTable, target: SessionLogTable) -> int:
    """Copy one log, newest first; its number of records."""
    seen = set[str]()
    until = _ENDS
    limit = _TOGETHER
    full = True
    while full:
        rows = source.find(SessionLogSearch(-_ENDS, until, limit=limit))
        for row in rows:
            if row.id not in seen:
                target.add(row)
        seen |= {row.id for row in rows}
        full = len(rows) == limit
        if full:
            # Of one moment there may be more than a page holds.
            limit = 2 * limit if rows[0].at == rows[-1].at else _TOGETHER
            until = rows[-1].at + 1
    return len(seen)
