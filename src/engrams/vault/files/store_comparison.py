"""Compare the files' state with the store after its database changed."""

from __future__ import annotations

from engrams.core import Record, Status
from engrams.vault.dependencies import VaultDeps, decode_text, group_by_owner
from engrams.vault.files import record_markdown
from engrams.vault.files.folder_access import hash_bytes
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.outbox import BATCH
from engrams.vault.files.sync_state import FileStateRow

_TEXTS = ("text", "caption", "summary")


def drop_stale_rows(parts: VaultDeps, *, always: bool) -> bool:
    """Drop the state of files whose memory the store lost or damaged.

    True: there were some; their files are read again.

    ``always``: also where the database is the one of the last time and has as many memories as
    there are files.
    """
    if not parts.state.exists:
        return False
    database = parts.places.database
    # A rescue puts another file in the database's place; new memories without files may outnumber
    # what it lost.
    file = str(database.stat().st_ino) if database.exists() else ""
    statuses = parts.store.counts(None).get("status", {})
    enough = sum(statuses.values()) - statuses.get(Status.PURGED, 0) >= parts.state.count()
    if enough and file == parts.state.get_fact("database") and not always:
        return False
    stale = 0
    rows = {(row.owner, row.id): row for row in parts.state.all_rows()}
    for owner, ids in group_by_owner(rows).items():
        for start in range(0, len(ids), BATCH):
            some = ids[start : start + BATCH]
            held = {record.id: record for record in parts.store.get(owner, some)}
            gone = [
                id for id in some if id not in held or _is_damaged(parts, rows[owner, id], held[id])
            ]
            parts.state.drop(owner, gone)
            stale += len(gone)
    parts.state.set_fact("database", file)
    if stale or not enough:
        parts.state.set_fact("notes", "{}")
    return bool(stale) or not enough


def _is_damaged(parts: VaultDeps, row: FileStateRow, record: Record) -> bool:
    """Test for a text that changed without a new version."""
    if record.version != row.version or record.status is Status.PURGED:
        return False
    data = parts.disk.read(row.path) if row.path else None
    if data is None or hash_bytes(data) != row.hash:
        return False
    try:
        told = record_markdown.parse_entry(decode_text(data)).fields
    except FrontMatterError:
        return False
    return any(told.get(name, "") != getattr(record, name) for name in _TEXTS)
