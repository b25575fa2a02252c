"""Copy of the safety and feedback logs, with the key of their hashes."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.errors import ConflictError
from engrams.ports import SessionLogSearch, SessionLogTable

_PAGE_ROWS = 5_000
_BEYOND = 1 << 62
"""Microseconds that no record is beyond, before and after 1970."""


def copy_session_logs(
    sources: Sequence[SessionLogTable], targets: Sequence[SessionLogTable]
) -> int:
    """Copy all records of logs that have one key; return their number.

    Records that are there already stay once. ConflictError: the target has records whose hashes
    have another key.
    """
    key = next((key for source in sources if (key := source.find_key())), b"")
    if not key:
        return 0
    for target in targets:
        if target.find_key() == key:
            continue
        if any(_has_records(log) for log in targets):
            raise ConflictError(
                "The target contains safety and feedback logs of another memory.",
                hint="Move into an empty store.",
            )
        target.save_key(key)
    return sum(
        _copy_log(source, target)
        for source, target in zip(sources, targets, strict=True)
        if source.exists
    )


def _has_records(log: SessionLogTable) -> bool:
    return log.exists and bool(log.find(SessionLogSearch(-_BEYOND, _BEYOND, limit=1)))


def _copy_log(source: SessionLogTable, target: SessionLogTable) -> int:
    """Copy one log, newest first; return its number of records."""
    copied_ids = set[str]()
    until = _BEYOND
    limit = _PAGE_ROWS
    is_full = True
    while is_full:
        rows = source.find(SessionLogSearch(-_BEYOND, until, limit=limit))
        for row in rows:
            if row.id not in copied_ids:
                target.add(row)
        copied_ids |= {row.id for row in rows}
        is_full = len(rows) == limit
        if is_full:
            # Of one moment there may be more than a page holds.
            limit = 2 * limit if rows[0].at == rows[-1].at else _PAGE_ROWS
            # The next page begins at the last row's moment again, as it may be cut in two.
            until = rows[-1].at + 1
    return len(copied_ids)
