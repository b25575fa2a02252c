"""Checks that sources stayed as they were while something was derived."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Record, Scope, Status
from engrams.errors import ConflictError
from engrams.ports import RecordChange, RecordStore


def find_changed(
    owner: Scope, read: Sequence[Record], store: RecordStore
) -> tuple[frozenset[str], tuple[RecordChange, ...]]:
    """Find which records were edited, forgotten or erased since they were read.

    Also returns the checks that let a batch commit only while the others are as they are now.
    """
    now = {
        record.id: record
        for record in store.get(owner, list(dict.fromkeys(record.id for record in read)))
    }
    changed = frozenset(
        record.id for record in read if record.id not in now or _is_changed(record, now[record.id])
    )
    return changed, tuple(
        RecordChange(owner=owner, id=name, fields={}, action="check", expect=one.version)
        for name, one in now.items()
        if name not in changed
    )


def check_sources(
    owner: Scope, read: Sequence[Record], store: RecordStore
) -> tuple[RecordChange, ...]:
    """Build the checks of everything that a text was derived from.

    ConflictError: some of it was changed or erased since it was read.
    """
    changed, checks = find_changed(owner, read, store)
    if changed:
        raise ConflictError(
            "What this was made of was changed or erased meanwhile.",
            hint="It is made again of what is left.",
        )
    return checks


def _is_changed(before: Record, now: Record) -> bool:
    """True for a record that was edited, forgotten or erased."""
    return before.text != now.text or (
        before.status is not now.status and now.status in (Status.FORGOTTEN, Status.PURGED)
    )
