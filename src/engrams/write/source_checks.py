"""Checks that sources stayed as they were while something was derived from them.

A model may take minutes to summarise records. What it derived is stored only if nobody edited,
forgot or erased one of them meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Record, Scope, Status
from engrams.errors import ConflictError
from engrams.ports import RecordChange, RecordStore


def find_changed(
    owner: Scope, sources: Sequence[Record], store: RecordStore
) -> tuple[frozenset[str], tuple[RecordChange, ...]]:
    """Find which records were edited, forgotten or erased since they were read.

    Returns their ids, and checks of the other records: a batch with these checks commits only while
    those records are as they are now. ``sources``: the records as they were read.
    """
    source_ids = list(dict.fromkeys(record.id for record in sources))
    current = {record.id: record for record in store.get(owner, source_ids)}
    changed_ids = frozenset(
        record.id
        for record in sources
        if record.id not in current or _is_changed(record, current[record.id])
    )
    checks = tuple(
        RecordChange(owner=owner, id=record_id, fields={}, action="check", expect=record.version)
        for record_id, record in current.items()
        if record_id not in changed_ids
    )
    return changed_ids, checks


def check_sources(
    owner: Scope, sources: Sequence[Record], store: RecordStore
) -> tuple[RecordChange, ...]:
    """Build the checks of everything that a text was derived from.

    ConflictError: some of it was changed or erased since it was read.
    """
    changed_ids, checks = find_changed(owner, sources, store)
    if changed_ids:
        raise ConflictError(
            "The sources of this were changed or erased meanwhile.",
            hint="engrams makes it again from the rest.",
        )
    return checks


def _is_changed(before: Record, current: Record) -> bool:
    """Return True for a record that was edited, forgotten or erased."""
    return before.text != current.text or (
        before.status is not current.status and current.status in (Status.FORGOTTEN, Status.PURGED)
    )
