"""Restore records of an earlier export as they were, with their links and history.

Unlike messages, such records carry no mark of their import in their metadata, because they come back
unchanged. The ids that an import restored are kept beside them, in states of the owner, for its undo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from engrams.core import Edge, HistoryEntry, ImportOptions, Record, Scope, Status
from engrams.forget.edit_fields import EDITABLE
from engrams.ports import (
    IMPORTS,
    NewRecord,
    OwnerStateRow,
    RecordChange,
    StorageUse,
    Store,
    WriteBatch,
)
from engrams.settings import QuotaSettings
from engrams.transfer.formats import ExportedEdge, ExportedRecord

EditRecord: TypeAlias = Callable[[Record, Mapping[str, Any], str], object]
"""Edits a record: its new values, and the reason."""
_LIFECYCLE = ("status", "strength", "trust", "superseded_by", "ended_at", "retired_at")
"""Fields that an import overwrites and no edit sets."""
_OVERWRITTEN = "overwritten by an import"


@dataclass(frozen=True, slots=True)
class RestoredExport:
    """Result of restoring records."""

    scopes: tuple[Scope, ...]
    """Scope of each record, also of those that were there before."""
    stored: int
    """Records that are new."""
    edges: int


def store_exported(
    items: Sequence[ExportedRecord | ExportedEdge],
    scope: Scope,
    store: Store,
    quota: QuotaSettings,
    now: datetime,
    options: ImportOptions,
) -> RestoredExport:
    """Restore records and edges under the owner of a scope, in one transaction.

    Records that are there already stay as they are; links get their exported weight if
    they are to be overwritten.
    """
    owner = scope.owner
    records = [
        replace(item.record, scope=_move_under(item.record.scope, scope))
        for item in items
        if isinstance(item, ExportedRecord)
    ]
    histories = {item.record.id: item.history for item in items if isinstance(item, ExportedRecord)}
    existing_ids = {record.id for record in store.get(owner, [record.id for record in records])}
    new_records = [record for record in records if record.id not in existing_ids]
    edges = _select_edges(items, owner, store, overwrite=options.overwrite)
    states = []
    if options.mark and new_records:
        row = _load_id_rows(store, owner, options.mark)[-1]
        states.append(replace(row, data={"ids": [record.id for record in new_records]}))
    store.commit(
        WriteBatch(
            "import",
            "restored from an export",
            now,
            puts=tuple(
                NewRecord(record, history=_clean_history(histories[record.id], record))
                for record in new_records
            ),
            edges=edges,
            states=tuple(states),
            quota=StorageUse(quota.records, quota.bytes),
        )
    )
    return RestoredExport(
        scopes=tuple(record.scope for record in records), stored=len(new_records), edges=len(edges)
    )


def _select_edges(
    items: Sequence[ExportedRecord | ExportedEdge], owner: Scope, store: Store, *, overwrite: bool
) -> tuple[Edge, ...]:
    """Select the exported edges that this memory lacks, or has with another weight (``overwrite``).

    A write adds to the count of a stored edge: an export that comes again must not.
    """
    exported = [
        replace(edge, owner=owner)
        for item in items
        for edge in (item.edges if isinstance(item, ExportedRecord) else (item.edge,))
    ]
    stored_weights = {
        (edge.source, edge.target, edge.type): edge.weight
        for edge in store.edges(owner, list({edge.source for edge in exported}))
    }
    selected = []
    for edge in exported:
        stored_weight = stored_weights.get((edge.source, edge.target, edge.type))
        if stored_weight is None:
            selected.append(edge)
        elif overwrite and stored_weight != edge.weight:
            selected.append(replace(edge, count=0))
    return tuple(selected)


def overwrite_existing(
    items: Sequence[ExportedRecord | ExportedEdge],
    scope: Scope,
    store: Store,
    edit: EditRecord,
    now: datetime,
) -> int:
    """Give stored memories the values of their exported records; return their number.

    A purged memory stays purged. Edges are added by ``store_exported``.
    """
    exported = {item.record.id: item.record for item in items if isinstance(item, ExportedRecord)}
    changes = []
    overwritten_ids = set()
    for stored in store.get(scope.owner, list(exported)):
        if stored.status is Status.PURGED:
            continue
        if values := _find_differences(stored, exported[stored.id], EDITABLE):
            edit(stored, values, _OVERWRITTEN)
            overwritten_ids.add(stored.id)
        if values := _find_differences(stored, exported[stored.id], _LIFECYCLE):
            changes.append(RecordChange(scope.owner, stored.id, values, "import"))
            overwritten_ids.add(stored.id)
    if changes:
        store.commit(WriteBatch("import", _OVERWRITTEN, now, changes=tuple(changes)))
    return len(overwritten_ids)


def _find_differences(stored: Record, exported: Record, names: Iterable[str]) -> dict[str, Any]:
    return {
        name: getattr(exported, name)
        for name in names
        if getattr(exported, name) != getattr(stored, name)
    }


def list_restored_ids(store: Store, owner: Scope, import_id: str) -> list[str]:
    """List the ids of the records that an import restored."""
    rows = _load_id_rows(store, owner, import_id)
    return [record_id for row in rows for record_id in row.data.get("ids", ())]


def _load_id_rows(store: Store, owner: Scope, import_id: str) -> list[OwnerStateRow]:
    """Load the rows of ids of an import, one a batch; the last one is new and empty."""
    rows = [store.load_state(owner, f"{IMPORTS}:{import_id}:0")]
    while rows[-1].token:
        rows.append(store.load_state(owner, f"{IMPORTS}:{import_id}:{len(rows)}"))
    return rows


def _clean_history(entries: Sequence[HistoryEntry], record: Record) -> tuple[HistoryEntry, ...]:
    """Sort history by version, one entry each, up to the record's version."""
    by_version = {entry.version: entry for entry in entries if 1 <= entry.version <= record.version}
    return tuple(by_version[version] for version in sorted(by_version))


def _move_under(exported: Scope, scope: Scope) -> Scope:
    """Return the scope of an exported record below the owner that imports it."""
    if not scope.is_owner:
        return scope.destination
    return Scope((*scope.labels, *exported.labels[len(exported.owner.labels) :]))
