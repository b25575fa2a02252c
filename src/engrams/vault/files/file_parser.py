"""Turn a file's content into a record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from engrams.core import (
    Kind,
    Provenance,
    Record,
    Scope,
    Status,
    build_restored_fields,
    build_tombstone,
)
from engrams.core.ids import derive_id
from engrams.errors import InputError
from engrams.vault.files.changes import BY_HAND, ChangedVaultFile
from engrams.vault.files.vault_paths import EVICTED, find_scope, is_away, parse_place, path_key

_KINDS = {
    "facts": Kind.NOTE,
    "rules": Kind.RULE,
    "summaries": Kind.SUMMARY,
    "episodes": Kind.EPISODE,
}
_TRUST = 0.95


def parse_edit(
    item: ChangedVaultFile, base: Record, scopes: Collection[Scope], at: datetime
) -> Record:
    """Parse a known memory's file into its record, with its folder."""
    fallback = {
        name: getattr(base, name) for name in ("id", "kind", "scope", "recorded_at", "layer")
    }
    found = replace(item.entry.to_record(fallback), id=base.id)
    row = item.row
    before = parse_place(row.path) if row is not None and row.path else None
    if (
        before is not None
        and path_key(before.scope) != path_key(item.place.scope)
        and found.scope == base.scope
    ):
        scope = find_scope(item.place.scope, scopes)
        if scope is None or scope.owner != base.scope.owner:
            raise InputError(
                "a memory cannot move to another owner's folder; remove its line `id:` to make it"
                " one of theirs"
            )
        found = replace(found, scope=scope)
    if item.place.deleted and not is_away(found):
        found = to_tombstone(found, at)
    elif not item.place.deleted and is_away(found):
        found = from_tombstone(found)
    return found


def name_file(item: ChangedVaultFile) -> str:
    """Name a file's memory by id, else by path and content.

    A file that was taken for a new memory just before a crash is so known again.
    """
    return item.entry.id or derive_id(_changed_at(item), f"{path_key(item.path)}\n{item.hash}")


def _changed_at(item: ChangedVaultFile) -> datetime:
    return datetime.fromtimestamp(item.stat.mtime / 1e9, UTC)


def parse_new(item: ChangedVaultFile, scope: Scope, at: datetime) -> Record:
    """Parse a file without a stored memory into a record."""
    given = item.entry.fields
    if not str(given.get("text", "")).strip() and not given.get("caption"):
        raise InputError("it is empty")
    own = bool(item.entry.id)
    folder = item.place.folder
    role = folder.partition("/")[2] if folder.startswith("turns/") else "user"
    kind = _KINDS.get(folder, Kind.TURN)
    record = item.entry.to_record(
        {"id": name_file(item), "kind": kind, "scope": scope, "recorded_at": _changed_at(item)}
    )
    if len(record.id) > 200 or not record.id.isprintable() or not record.id.strip():
        raise InputError("its id is no id: at most 200 printable characters")
    if not own:
        origin = (
            Provenance("file", reason=BY_HAND) if "provenance" not in given else record.provenance
        )
        trust = _TRUST if "trust" not in given else record.trust
        record = replace(record, role=record.role or role, provenance=origin, trust=trust)
    if item.place.deleted and not is_away(record):
        record = to_tombstone(record, at)
    return record


def to_tombstone(record: Record, at: datetime) -> Record:
    """Return a record's tombstone, which keeps its status for later."""
    return replace(record, **build_tombstone(record, at))


def from_tombstone(record: Record) -> Record:
    """Restore a record from its tombstone or eviction."""
    by = (
        ""
        if record.superseded_by == EVICTED or record.status is Status.SUPERSEDED
        else record.superseded_by
    )
    return replace(record, **build_restored_fields(record), superseded_by=by)
