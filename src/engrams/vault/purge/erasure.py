"""Erase memories' files in one step with the memories themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from engrams.core import Record, Scope, Status
from engrams.ports import PurgeReport, RecordQuery, ScopeReach
from engrams.text.redact import MIN_REDACTED_CHARS, REMOVED
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite
from engrams.vault.files.outbox import VaultOutboxWriter
from engrams.vault.files.vault_paths import CONFLICTS, make_slug
from engrams.vault.notes.note_lines import NotePurge
from engrams.vault.notes.vault_notes import VaultNotes
from engrams.vault.purge.file_redaction import redact_files
from engrams.vault.purge.note_redaction import NoteLineRemover

_PAGE = 1000
_NAME = re.compile(r"__(?P<slug>[^/]*)__(?P<tail>[0-9a-z]{4,32})\.[0-9a-f]{8}\.md$")
"""End of a conflict file's name: words of the memory, end of its id, hash of the file."""
_REMOVED = "removed"


class VaultMemoryEraser:
    """Erases memories with their files. Call with the vault's lock held."""

    def __init__(self, deps: VaultDeps, notes: VaultNotes, outbox: VaultOutboxWriter) -> None:
        self._deps = deps
        self._notes = notes
        self._outbox = outbox

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        shortened_ids: Sequence[str],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase memories and their files, also links to them and quotes.

        ``erase``: erases the memories in the store. ``shortened_ids``: memories that lose words
        there. A crash between any two steps leaves nothing: the files to remove are noted first,
        and whoever opens the vault next removes those whose memory the store has erased.
        """
        deps = self._deps
        rows = deps.state.get(owner, ids)
        paths = [path for row in rows.values() for path in {row.path, row.next_path} if path]
        deps.state.add_erasures(
            (owner, record_id, path)
            for record_id, row in rows.items()
            for path in {row.path, row.next_path}
            if path
        )
        # Links and quotes can only be found while they exist, and repetitions while the texts do.
        related_ids = self._find_related(owner, [*ids, *shortened_ids])
        records = [
            record for record in deps.store.get(owner, ids) if record.status is not Status.PURGED
        ]
        purge = NotePurge(frozenset(ids), frozenset(shortened_ids), words)
        notes_changed = self._redact_files(owner, records, purge)
        report = erase()
        files = self._outbox.execute_purges() + notes_changed
        self._drop_old_names(owner, shortened_ids)
        erased_ids = set(ids)
        rewritten_ids = [
            record_id
            for record_id in dict.fromkeys((*shortened_ids, *related_ids))
            if record_id not in erased_ids
        ]
        self._outbox.write_files(owner, rewritten_ids, {})
        files += self._rename_conflicts((*ids, *shortened_ids), words)
        remaining = sum(deps.disk.stat(path) is not None for path in paths)
        return replace(
            report,
            removed={**report.removed, "files": files},
            remaining={**report.remaining, "files": remaining},
        )

    def _find_related(self, owner: Scope, ids: Sequence[str]) -> list[str]:
        """Find the memories that quote these or link to them: their files say so."""
        store = self._deps.store
        quoting = store.find(
            RecordQuery(
                ScopeReach.of_owner(owner),
                statuses=tuple(Status),
                sources=tuple(ids),
                limit=_PAGE,
            )
        ).records
        linked_ids = [edge.source for edge in store.edges(owner, ids)]
        return [*(record.id for record in quoting), *linked_ids]

    def _redact_files(self, owner: Scope, records: Sequence[Record], purge: NotePurge) -> int:
        remover = NoteLineRemover(self._notes.lines, owner, purge, records)
        changed = redact_files(self._deps, records, purge.words, remover)
        if changed:
            # A held plan and the MEMORY.md before the last dream may say the same.
            self._notes.dreams.drop_drafts(owner)
            self._notes.index.sync()
        return changed

    def _drop_old_names(self, owner: Scope, ids: Sequence[str]) -> None:
        """Remove the files of shortened memories that are named after old words.

        They are written again under new names.
        """
        deps = self._deps
        rows = deps.state.get(owner, ids)
        for record in deps.store.get(owner, list(rows)):
            row = rows[record.id]
            paths = [path for path in {row.path, row.next_path} if path]
            slug = make_slug(record.text or record.caption)
            if any(slug not in path for path in paths):
                deps.state.touch([(path, {"does": "purge", "id": record.id}) for path in paths])
                for path in paths:
                    deps.disk.remove(path)
                deps.state.drop(owner, [record.id])

    def _rename_conflicts(self, ids: Sequence[str], words: Sequence[str]) -> int:
        """Rename conflict files that are named after purged words; return their number."""
        deps = self._deps
        count = 0
        slugs = [slug for word in words if len(slug := make_slug(word)) >= MIN_REDACTED_CHARS]
        id_tails = {record_id[-4:] for record_id in ids} | {record_id[-8:] for record_id in ids}
        for path, _ in list(deps.disk.walk(CONFLICTS, every=True)):
            name = _NAME.search(path)
            if name is None or name["slug"] == _REMOVED:
                continue
            data = deps.disk.read(path) or b""
            # Where words were taken out of the text, the name may hold a part of them.
            was_shortened = REMOVED.encode() in data
            is_about_purged = name["tail"] in id_tails or any(
                slug in name["slug"] for slug in slugs
            )
            if not was_shortened and not is_about_purged:
                continue
            target = f"{path[: name.start('slug')]}{_REMOVED}{path[name.end('slug') :]}"
            deps.state.touch([(path, {"does": "purge"}), (target, {"does": "purge"})])
            deps.disk.write([PlannedFileWrite(target, data)])
            deps.disk.remove(path)
            count += 1
        return count
