"""Compare the files' state with the store after its database changed.

A rescue, or a file that somebody copied, may put an older or damaged database in the place of the
one that the state tells of. Without this, its missing memories would look like removed files.
"""

from __future__ import annotations

from engrams.core import Record, Status
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files import record_markdown
from engrams.vault.files.folder_access import hash_bytes
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.owner_groups import group_by_owner
from engrams.vault.files.sync_state import FileStateRow

_STEP = 500
"""Memories that are compared at once."""
_TEXTS = ("text", "caption", "summary")


def drop_stale_rows(deps: VaultDeps, *, always: bool) -> bool:
    """Drop the state of files whose memory the store lost or damaged.

    Returns True where there were some: their files are to be read again, as they are where the
    state was lost together with the store. ``always``: compare also where the database is the same
    as last time and has as many memories as there are files.
    """
    counts = deps.store.counts(None).get("status", {})
    is_lost = deps.truth == "db" and not (sum(counts.values()) or deps.state.count())
    if is_lost or not deps.state.exists:
        return is_lost
    database = deps.paths.database
    # The inode tells a database that was put in the place of another one. The number of memories
    # alone does not: new ones without files may outnumber those that are lost.
    database_file = str(database.stat().st_ino) if database.exists() else ""
    memories = sum(counts.values()) - counts.get(Status.PURGED, 0)
    has_enough = memories >= deps.state.count()
    if has_enough and database_file == deps.state.get_fact("database") and not always:
        return False
    stale = _drop_rows(deps)
    deps.state.set_fact("database", database_file)
    if stale or not has_enough:
        deps.state.set_fact("notes", "{}")
    return bool(stale) or not has_enough


def _drop_rows(deps: VaultDeps) -> int:
    """Drop the rows of lost and damaged memories; return their number."""
    stale = 0
    rows = {(row.owner, row.id): row for row in deps.state.all_rows()}
    for owner, record_ids in group_by_owner(rows).items():
        for start in range(0, len(record_ids), _STEP):
            step = record_ids[start : start + _STEP]
            records = {record.id: record for record in deps.store.get(owner, step)}
            stale_ids = [
                record_id
                for record_id in step
                if record_id not in records
                or _is_damaged(deps, rows[owner, record_id], records[record_id])
            ]
            deps.state.drop(owner, stale_ids)
            stale += len(stale_ids)
    return stale


def _is_damaged(deps: VaultDeps, row: FileStateRow, record: Record) -> bool:
    """Return True for a text that changed without a new version."""
    if record.version != row.version or record.status is Status.PURGED:
        return False
    data = deps.disk.read(row.path) if row.path else None
    if data is None or hash_bytes(data) != row.hash:
        return False
    try:
        fields = record_markdown.parse_entry(decode_text(data)).fields
    except FrontMatterError:
        return False
    return any(fields.get(name, "") != getattr(record, name) for name in _TEXTS)
