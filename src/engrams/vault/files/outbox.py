"""Write the files that committed changes of memory ask for.

A write of the store leaves entries in its outbox (``store_wrapper``). ``VaultOutboxWriter.flush``
turns them into files, and removes the files of purged memories first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from engrams.core import Json, Scope, Status
from engrams.ports import Job, OutboxEntry, RecordQuery, ScopeReach
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.importer import VaultFileImporter
from engrams.vault.files.owner_groups import group_by_owner
from engrams.vault.files.writer import VaultFileWriter
from engrams.vault.store_wrapper import TOPIC

BATCH = 500
"""Memories whose files are written together."""
COMPLETE = "complete"
"""Name of the fact that every memory has had its file written once."""
_MAX_ENTRIES = 1 << 20
"""Entries of other topics behind which the vault's own are looked for, at most."""

OnWritten: TypeAlias = Callable[[Scope, Mapping[str, str]], None]
"""Function that is told the owner of each batch, and what was done to each memory."""


class VaultOutboxWriter:
    """Writes the files of changed memories. Call with the vault's lock held."""

    def __init__(self, deps: VaultDeps, importer: VaultFileImporter, on_written: OnWritten) -> None:
        self._deps = deps
        self._importer = importer
        self._on_written = on_written
        self._writer = VaultFileWriter(deps)

    def flush(self, renamed: Sequence[tuple[Scope, str]] = (), job: Job | None = None) -> int:
        """Write the outbox batch by batch; return the number of files.

        ``renamed``: memories whose files were moved by hand; the files that link to them are
        written too. ``job``: whose lease is renewed after each batch.
        """
        self.execute_purges()
        count = self._write_linking(renamed)
        while entries := self._list_entries():
            notes = {
                (entry.owner, entry.record): {**entry.payload, "why": entry.payload.get("why", "")}
                for entry in entries
            }
            for owner, record_ids in group_by_owner(notes).items():
                owner_notes = {record_id: notes[owner, record_id] for record_id in record_ids}
                count += self.write_files(owner, record_ids, owner_notes)
                self._on_written(
                    owner,
                    {
                        record_id: str(note.get("does", ""))
                        for record_id, note in owner_notes.items()
                    },
                )
            # After the files: an entry that a crash leaves only makes a file be written again.
            self._deps.store.clear([entry.id for entry in entries])
            self._renew_lease(job)
        return count

    def export(self, job: Job | None) -> None:
        """Write files, once, for the memories older than the vault."""
        deps = self._deps
        if deps.state.get_fact(COMPLETE) == "1":
            return
        for owner in dict.fromkeys(scope.owner for scope in deps.store.scopes(None)):
            query = RecordQuery(
                ScopeReach.of_owner(owner), statuses=(), order="oldest", limit=BATCH
            )
            while True:
                page = deps.store.find(query)
                record_ids = [record.id for record in page.records]
                rows = deps.state.get(owner, record_ids)
                without_file = [record_id for record_id in record_ids if record_id not in rows]
                self.write_files(owner, without_file, {})
                self._renew_lease(job)
                if not page.next:
                    break
                query = replace(query, after=page.next)
        deps.state.set_fact(COMPLETE, "1")

    def execute_purges(self) -> int:
        """Remove the files of purged memories; return their number.

        Files that were to go with a purge which failed stay, and are no longer noted.
        """
        deps = self._deps
        erasures = deps.state.pending_erasures()
        removed = 0
        pairs = ((owner, record_id) for owner, record_id, _ in erasures)
        for owner, record_ids in group_by_owner(pairs).items():
            purged_ids = {
                record.id
                for record in deps.store.get(owner, record_ids)
                if record.status is Status.PURGED
            }
            for erased_owner, record_id, path in erasures:
                if erased_owner != owner or record_id not in purged_ids:
                    continue
                removed += deps.disk.stat(path) is not None
                deps.state.touch([(path, {"does": "purge", "id": record_id})])
                deps.disk.remove(path)
            deps.state.drop(owner, purged_ids)
            deps.state.drop_erasures((owner, record_id) for record_id in record_ids)
        return removed

    def write_files(
        self, owner: Scope, record_ids: Sequence[str], notes: Mapping[str, Json]
    ) -> int:
        """Write the files of memories; return their number.

        A file that a hand changed meanwhile is taken in first, and then written. If it changes
        again, it is kept aside. ``notes``: what was done to each memory, for the history.
        """
        if not record_ids:
            return 0
        store = self._deps.store
        result = self._writer.write_records(owner, store.get(owner, record_ids), notes)
        count = result.count
        if result.blocked:
            self._importer.run()
            retry = self._writer.write_records(owner, store.get(owner, result.blocked), notes)
            count += retry.count
            if retry.blocked:
                count += self._writer.write_records(
                    owner, store.get(owner, retry.blocked), notes, force=True
                ).count
        if result.neighbours:
            count += self._writer.write_records(
                owner, store.get(owner, result.neighbours), {}
            ).count
        return count

    def _write_linking(self, renamed: Sequence[tuple[Scope, str]]) -> int:
        """Write the files that link to renamed ones, and those themselves.

        Themselves too: without the file's own state an older file is taken for a moved one.
        """
        count = 0
        for owner, record_ids in group_by_owner(renamed).items():
            linking_ids = [
                edge.source
                for edge in self._deps.store.edges(owner, record_ids)
                if edge.target in record_ids
            ]
            count += self.write_files(owner, list(dict.fromkeys((*record_ids, *linking_ids))), {})
        return count

    def _list_entries(self) -> list[OutboxEntry]:
        """List the vault's next entries; other topics may wait before them."""
        limit = BATCH
        while True:
            entries = self._deps.store.outbox(limit)
            own_entries = [entry for entry in entries if entry.topic == TOPIC]
            if own_entries or len(entries) < limit or limit > _MAX_ENTRIES:
                return own_entries[:BATCH]
            limit *= 4

    def _renew_lease(self, job: Job | None) -> None:
        if job is not None:
            self._deps.store.renew(
                job.lease, self._deps.clock() + timedelta(seconds=self._deps.callbacks.lease)
            )
