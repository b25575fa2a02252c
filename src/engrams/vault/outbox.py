"""Write the files of the outbox's entries, then clear them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from engrams.ports import Job, OutboxEntry, Query, Reach
from engrams.types import Scope, Status
from engrams.vault.parts import VaultDeps, group_by_owner
from engrams.vault.pull import VaultPull
from engrams.vault.push import VaultPush
from engrams.vault.storewrapper import TOPIC

BATCH = 500
_MOST = 1 << 20

COMPLETE = "complete"
"""Name of the fact that every memory has had its file written once."""


class Outbox:
    """Writer of outbox entries. Call with the vault's lock held.

    ``written`` is called with the owner of each batch.
    """

    def __init__(self, parts: VaultDeps, intake: VaultPull, written: Callable[[Scope], None]) -> None:
        self.parts, self._intake, self._written = parts, intake, written
        self._writer = VaultPush(parts)

    def flush(self, renamed: Sequence[tuple[Scope, str]], job: Job | None = None) -> int:
        """Write the outbox batch by batch; return the number of files."""
        self.execute_purges()
        written = 0
        for owner, ids in group_by_owner(renamed).items():
            edges = self.parts.store.edges(owner, ids)
            written += self.write_files(owner, [edge.source for edge in edges if edge.target in ids], {})
        while entries := self._next_entries():
            notes = {(entry.owner, entry.record): {**entry.payload, "why": entry.payload.get("why", "")} for entry in entries}
            for owner, ids in group_by_owner((entry.owner, entry.record) for entry in entries).items():
                written += self.write_files(owner, ids, {name: notes[owner, name] for name in ids})
                self._written(owner)
            self.parts.store.clear([entry.id for entry in entries])
            self._renew_lease(job)
        return written

    def export(self, job: Job | None) -> None:
        """Write files, once, for the memories older than the vault."""
        parts = self.parts
        if parts.state.get_fact(COMPLETE) == "1":
            return
        for owner in dict.fromkeys(scope.owner for scope in parts.store.scopes(None)):
            query = Query(Reach(owner, (owner,), tree=True), statuses=(), order="oldest", limit=BATCH)
            while True:
                page = parts.store.find(query)
                known = parts.state.get(owner, [record.id for record in page.records])
                self.write_files(owner, [record.id for record in page.records if record.id not in known], {})
                self._renew_lease(job)
                if not page.next:
                    break
                query = replace(query, after=page.next)
        parts.state.set_fact(COMPLETE, "1")

    def execute_purges(self) -> int:
        """Remove purged memories' files, drop failed purges; return the files' number."""
        parts = self.parts
        condemned = parts.state.pending_erasures()
        removed = 0
        for owner, ids in group_by_owner((owner, id) for owner, id, _ in condemned).items():
            gone = {record.id for record in parts.store.get(owner, ids) if record.status is Status.PURGED}
            for _, id, path in (item for item in condemned if item[0] == owner and item[1] in gone):
                removed += parts.disk.stat(path) is not None
                parts.state.touch([(path, {"does": "purge", "id": id})])
                parts.disk.remove(path)
            parts.state.drop(owner, gone)
            parts.state.drop_erasures((owner, id) for id in ids)
        return removed

    def write_files(self, owner: Scope, ids: Sequence[str], notes: Mapping[str, Any]) -> int:
        """Write memories' files, after taking in what hands changed meanwhile."""
        if not ids:
            return 0
        store = self.parts.store
        done = self._writer.write(owner, store.get(owner, ids), notes)
        count = done.count
        if done.blocked:
            self._intake.run()
            again = self._writer.write(owner, store.get(owner, done.blocked), notes)
            count += again.count
            if again.blocked:
                count += self._writer.write(owner, store.get(owner, again.blocked), notes, force=True).count
        if done.neighbours:
            count += self._writer.write(owner, store.get(owner, done.neighbours), {}).count
        return count

    def _next_entries(self) -> list[OutboxEntry]:
        """Return the vault's next entries; other topics may wait before them."""
        limit = BATCH
        while True:
            found = self.parts.store.outbox(limit)
            mine = [entry for entry in found if entry.topic == TOPIC]
            if mine or len(found) < limit or limit > _MOST:
                return mine[:BATCH]
            limit *= 4

    def _renew_lease(self, job: Job | None) -> None:
        if job is not None:
            self.parts.store.renew(job.lease, self.parts.clock() + timedelta(seconds=self.parts.rules.lease))
