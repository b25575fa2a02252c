"""Turn a file's content into a record.

``parse_edit`` reads the file of a known memory, ``parse_new`` that of a new one.
"""

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
from engrams.vault.files.vault_paths import (
    REPLACED_BY_EVICTION,
    find_scope,
    is_away,
    parse_location,
    path_key,
)

_KINDS = {
    "facts": Kind.NOTE,
    "rules": Kind.RULE,
    "summaries": Kind.SUMMARY,
    "episodes": Kind.EPISODE,
    "passages": Kind.PASSAGE,
}
"""Kind of a new memory by its folder; in any other folder it is a turn."""
_TRUST = 0.95
"""Trust in a memory that somebody wrote as a file."""
_MAX_ID = 200


def parse_edit(
    file: ChangedVaultFile, base: Record, scopes: Collection[Scope], now: datetime
) -> Record:
    """Parse the file of a known memory into its record.

    The folder counts too: a file that was moved moves its memory. ``base``: the memory as it was
    when file and memory last agreed. InputError: the file lies in another owner's folder.
    """
    fallback = {
        name: getattr(base, name) for name in ("id", "kind", "scope", "recorded_at", "layer")
    }
    record = replace(file.content.to_record(fallback), id=base.id)
    row = file.row
    old_location = parse_location(row.path) if row is not None and row.path else None
    if (
        old_location is not None
        and path_key(old_location.scope) != path_key(file.location.scope)
        and record.scope == base.scope
    ):
        scope = find_scope(file.location.scope, scopes)
        if scope is None or scope.owner != base.scope.owner:
            raise InputError(
                "a memory cannot move to another owner's folder; remove its line `id:` to make it"
                " one of theirs"
            )
        record = replace(record, scope=scope)
    if file.location.deleted and not is_away(record):
        return _to_tombstone(record, now)
    if not file.location.deleted and is_away(record):
        return _from_tombstone(record)
    return record


def parse_new(file: ChangedVaultFile, scope: Scope, now: datetime) -> Record:
    """Parse a file without a stored memory into a record.

    InputError: it is empty, or its id is none.
    """
    fields = file.content.fields
    if not str(fields.get("text", "")).strip() and not fields.get("caption"):
        raise InputError("it is empty")
    folder = file.location.folder
    record = file.content.to_record(
        {
            "id": name_memory(file),
            "kind": _KINDS.get(folder, Kind.TURN),
            "scope": scope,
            "recorded_at": _changed_at(file),
        }
    )
    if len(record.id) > _MAX_ID or not record.id.isprintable() or not record.id.strip():
        raise InputError("its id is not valid: at most 200 printable characters")
    if not file.content.id:
        folder_role = folder.partition("/")[2] if folder.startswith("turns/") else "user"
        record = replace(
            record,
            role=record.role or folder_role,
            provenance=(
                record.provenance if "provenance" in fields else Provenance("file", reason=BY_HAND)
            ),
            trust=record.trust if "trust" in fields else _TRUST,
        )
    if file.location.deleted and not is_away(record):
        record = _to_tombstone(record, now)
    return record


def name_memory(file: ChangedVaultFile) -> str:
    """Return the id of a file's memory: its own, or one made of path and content.

    A file that was taken in as a new memory just before a crash is so known again.
    """
    return file.content.id or derive_id(_changed_at(file), f"{path_key(file.path)}\n{file.hash}")


def _changed_at(file: ChangedVaultFile) -> datetime:
    return datetime.fromtimestamp(file.stat.mtime / 1e9, UTC)


def _to_tombstone(record: Record, now: datetime) -> Record:
    """Return a record's tombstone, which keeps its status for later."""
    return replace(record, **build_tombstone(record, now))


def _from_tombstone(record: Record) -> Record:
    """Restore a record from its tombstone or eviction."""
    is_replaced = record.superseded_by == REPLACED_BY_EVICTION or record.status is Status.SUPERSEDED
    superseded_by = "" if is_replaced else record.superseded_by
    return replace(record, **build_restored_fields(record), superseded_by=superseded_by)
