"""Erase memories' files with the memories themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from engrams.core import Scope, Status
from engrams.ports import PurgeReport, RecordQuery, ScopeReach
from engrams.text.redact import LEAST, REMOVED
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite
from engrams.vault.files.outbox import DailyNoteJobHandlers, VaultOutboxWriter
from engrams.vault.files.vault_paths import CONFLICTS, make_slug

_PAGE = 1000
_NAME = re.compile(r"__(?P<slug>[^/]*)__(?P<tail>[0-9a-z]{4,32})\.[0-9a-f]{8}\.md$")
"""End of a conflict file's name: words of the memory, end of its id, hash of the file."""
_REMOVED = "removed"


class VaultMemoryEraser:
    """Eraser of memories with their files. Call with the vault's lock held."""

    def __init__(
        self, parts: VaultDeps, days: DailyNoteJobHandlers, outbox: VaultOutboxWriter
    ) -> None:
        self._parts = parts
        self._days = days
        self._outbox = outbox

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        shortened: Sequence[str],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase memories and their files, also links to them and quotes.

        What is to go is noted first: a crash in between leaves nothing.
        """
        parts = self._parts
        rows = parts.state.get(owner, ids)
        parts.state.add_erasures(
            (owner, id, path)
            for id, row in rows.items()
            for path in {row.path, row.next_path}
            if path
        )
        touched = [*ids, *shortened]
        reach = ScopeReach(owner, (owner,), tree=True)
        citing = parts.store.find(
            RecordQuery(reach, statuses=tuple(Status), sources=tuple(touched), limit=_PAGE)
        ).records
        linked = [edge.source for edge in parts.store.edges(owner, touched)]
        records = [
            record for record in parts.store.get(owner, ids) if record.status is not Status.PURGED
        ]
        # Repetitions can only be found while the texts exist.
        scrubbed = self._days.scrub_notes(records, words)
        done = erase()
        files = self._outbox.execute_purges() + scrubbed
        self._drop_old_names(owner, shortened)
        others = [
            name
            for name in (*shortened, *(one.id for one in citing), *linked)
            if name not in set(ids)
        ]
        self._outbox.write_files(owner, list(dict.fromkeys(others)), {})
        files += self._clean_conflicts((*ids, *shortened), words)
        paths = [path for row in rows.values() for path in {row.path, row.next_path} if path]
        left = sum(parts.disk.stat(path) is not None for path in paths)
        return replace(
            done,
            removed={**done.removed, "files": files},
            remaining={**done.remaining, "files": left},
        )

    def _drop_old_names(self, owner: Scope, ids: Sequence[str]) -> None:
        """Remove files of shortened memories that are named after old words."""
        parts = self._parts
        rows = parts.state.get(owner, ids)
        for record in parts.store.get(owner, list(rows)):
            paths = [path for path in {rows[record.id].path, rows[record.id].next_path} if path]
            if any(make_slug(record.text or record.caption) not in path for path in paths):
                parts.state.touch([(path, {"does": "purge", "id": record.id}) for path in paths])
                for path in paths:
                    parts.disk.remove(path)
                parts.state.drop(owner, [record.id])

    def _clean_conflicts(self, ids: Sequence[str], words: Sequence[str]) -> int:
        """Rename conflict files that are named after purged words."""
        parts = self._parts
        count = 0
        slugs = [slug for word in words if len(slug := make_slug(word)) >= LEAST]
        tails = {id[-4:] for id in ids} | {id[-8:] for id in ids}
        for path, _ in list(parts.disk.walk(CONFLICTS, every=True)):
            found = _NAME.search(path)
            if found is None or found["slug"] == _REMOVED:
                continue
            # Where words were taken out, the name may hold a part of them.
            shortened = REMOVED.encode() in (parts.disk.read(path) or b"")
            if shortened or found["tail"] in tails or any(slug in found["slug"] for slug in slugs):
                target = f"{path[: found.start('slug')]}{_REMOVED}{path[found.end('slug') :]}"
                parts.state.touch([(path, {"does": "purge"}), (target, {"does": "purge"})])
                parts.disk.write([PlannedFileWrite(target, parts.disk.read(path) or b"")])
                parts.disk.remove(path)
                count += 1
        return count
