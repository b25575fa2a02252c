"""Names of imported files, which a purge of their memories takes off the list of imports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from engrams.core import IMPORTED, Meta, Record, Scope, Status
from engrams.errors import ConflictError
from engrams.ports import IMPORTS, Condition, RecordQuery, ScopeReach, Store, Where

_TRIES = 10
"""Attempts to save the list while others save it too."""
_LEFT = tuple(status for status in Status if status is not Status.PURGED)


def drop_import_names(store: Store, owner: Scope, erased: Sequence[Record]) -> None:
    """Drop the imports of erased memories of which none is left, and those that were undone."""
    marks = {str(record.meta[IMPORTED]) for record in erased if IMPORTED in record.meta}
    if not marks:
        return
    for tries_left in reversed(range(_TRIES)):
        row = store.load_state(owner, IMPORTS)
        entries = row.data.get("imports", ())
        remaining = [entry for entry in entries if _stays(store, owner, entry, marks)]
        if len(remaining) == len(entries):
            return
        try:
            store.save_state(replace(row, data={"imports": remaining}), expect=row.token)
        except ConflictError:
            if not tries_left:
                raise
        else:
            return


def _stays(store: Store, owner: Scope, entry: Meta, marks: Collection[str]) -> bool:
    """True for an import with memories, or which is none of those that were erased."""
    if entry["state"] == "undone":
        return False
    if entry["id"] not in marks or entry["state"] == "running":
        return True
    where = Where("and", (Condition(f"meta.{IMPORTED}", "eq", entry["id"]),))
    query = RecordQuery(ScopeReach.of_owner(owner), statuses=_LEFT, where=where, limit=1)
    return bool(store.find(query).records)
