"""Export the memories in reach of a scope to a file; the entry is ``dump``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engrams.core import Record, Status
from engrams.errors import InputError
from engrams.ports import RecordQuery, ScopeReach, Store
from engrams.read.corrected_words import mask_corrected
from engrams.read.entities.entity_index import EntityIndex
from engrams.settings import Settings
from engrams.transfer import formats
from engrams.transfer.formats import ExportedRecord, ExportFormat
from engrams.transfer.progress import Progress

_PAGE = 500
"""Records read from the store at a time."""
_ALL_BUT_PURGED = tuple(status for status in Status if status is not Status.PURGED)
_CURRENT_AND_PAST = (Status.ACTIVE, Status.SUPERSEDED)


def check_target(path: Path, settings: Settings) -> None:
    """Check that an export writes nothing into the home or the vault. InputError: it would."""
    target = path.expanduser().resolve()
    folders = [settings.home, *([Path(settings.vault.path)] if settings.vault.path else [])]
    for folder in folders:
        if target.is_relative_to(folder.expanduser().resolve()):
            raise InputError(
                f"{path} lies in the memory's own folder {folder}.",
                hint="Export to a file outside of it: an export there could overwrite the memory.",
            )


def dump(
    path: Path, reach: ScopeReach, store: Store, format: ExportFormat, progress: Progress | None
) -> int:
    """Export everything in reach, oldest first; return the number of records.

    JSONL holds records of every status but purged, with links and history; tables and Obsidian
    vaults hold former statements too; other formats hold the current ones.
    """
    if format == "jsonl":
        return formats.write(
            path,
            _iter_full_records(reach, store, progress),
            format,
            header={"scope": reach.owner.key},
        )
    statuses = _CURRENT_AND_PAST if format in ("csv", "obsidian") else (Status.ACTIVE,)
    records = (
        mask_corrected(record)
        for page in _iter_pages(reach, store, statuses, progress)
        for record in page
    )
    net = EntityIndex(store).find(reach) if format == "obsidian" else None
    return formats.write(path, records, format, net=net)


def _iter_full_records(
    reach: ScopeReach, store: Store, progress: Progress | None
) -> Iterator[ExportedRecord]:
    """Yield records with their outgoing edges and their history."""
    for page in _iter_pages(reach, store, _ALL_BUT_PURGED, progress):
        edges = store.edges(reach.owner, [record.id for record in page])
        for record in page:
            yield ExportedRecord(
                record,
                tuple(edge for edge in edges if edge.source == record.id),
                store.history(reach.owner, record.id),
            )


def _iter_pages(
    reach: ScopeReach, store: Store, statuses: tuple[Status, ...], progress: Progress | None
) -> Iterator[tuple[Record, ...]]:
    """Yield records page by page, oldest first; the total is not known in advance."""
    after = ""
    record_count = 0
    while True:
        page = store.find(
            RecordQuery(reach, statuses=statuses, order="oldest", after=after, limit=_PAGE)
        )
        if page.records:
            yield page.records
        record_count += len(page.records)
        if progress is not None:
            progress(record_count, record_count)
        if not page.next:
            return
        after = page.next
