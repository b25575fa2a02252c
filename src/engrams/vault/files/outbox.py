"""Queue file writes; run the jobs of notes and dreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from engrams.core import Record, Scope, Status
from engrams.errors import ModelError
from engrams.ports import (
    DAILY,
    DREAM,
    ChatModel,
    Job,
    NoteFlushRequest,
    OutboxEntry,
    RecordQuery,
    ScopeReach,
)
from engrams.text.redact import LEAST, REMOVED, redact, redact_short
from engrams.vault.dependencies import VaultDeps, group_by_owner
from engrams.vault.files.importer import VaultFileImporter
from engrams.vault.files.vault_paths import CONFLICTS, DOCUMENTS
from engrams.vault.files.writer import VaultFileWriter
from engrams.vault.notes.daily_notes import VaultDailyNoteWriter, one_line
from engrams.vault.notes.dream import PAUSE, DreamPlan, DreamRunner
from engrams.vault.notes.note_lines import NoteLineLedger
from engrams.vault.notes.search_index import NoteSearchIndexer
from engrams.vault.store_wrapper import TOPIC

_LEAST = 12
_OWNERS = 10_000
"""Owners whose dream of the day is remembered as planned; planning one twice changes nothing."""


BATCH = 500
_MOST = 1 << 20

COMPLETE = "complete"
"""Name of the fact that every memory has had its file written once."""


class DailyNoteJobHandlers:
    """Handlers of the jobs for daily notes, dreams and their search index."""

    def __init__(self, parts: VaultDeps, chat: ChatModel | None = None) -> None:
        self._parts = parts
        lines = NoteLineLedger(parts.store, parts.state)
        self.daily = VaultDailyNoteWriter(parts, lines, chat)
        self.dreams = DreamRunner(parts, lines, chat)
        self.notes = NoteSearchIndexer(parts, lines)
        self._planned: dict[str, date] = {}

    @property
    def handlers(self) -> dict[str, Callable[[Job], None]]:
        return {DAILY: self._run_daily, DREAM: self._run_dream}

    def plan_dream(self, owner: Scope) -> None:
        """Enqueue the next consolidation of notes (dream) by the set triggers."""
        now = self._parts.clock()
        counted = self._parts.settings.dream_files or self._parts.settings.dream_bytes
        if not counted and self._planned.get(owner.key) == now.date():
            return
        self._planned[owner.key] = now.date()
        while len(self._planned) > _OWNERS:
            del self._planned[next(iter(self._planned))]
        spec = self.dreams.next_job(owner, now)
        if spec is not None:
            self._parts.store.enqueue([spec], now)

    def dream(
        self,
        owner: Scope,
        days: int,
        *,
        force: bool = False,
        confirm: bool | None = None,
        today: date | None = None,
    ) -> DreamPlan | None:
        """Summarise the day, then consolidate daily notes into MEMORY.md.

        Every door dreams by this. ``confirm``: hold the plan (None: as set). None: nothing new.
        """
        self.daily.summarise(owner, today or self._parts.clock().date())
        return self.dreams.dream(owner, days, force=force, confirm=confirm, today=today)

    def follow(self, owner: Scope, does: Mapping[str, str]) -> None:
        """Index notes of changed memories anew; plan the next dream."""
        self.notes.follow(owner, does)
        self.plan_dream(owner)

    def scrub_notes(self, records: Sequence[Record], words: Sequence[str]) -> int:
        """Remove lines that repeat purged texts, and words; count the files."""
        texts = [
            " ".join(record.text.split()).casefold()
            for record in records
            if len(record.text.strip()) >= _LEAST
        ]
        cut = tuple(
            line.casefold()
            for line in (one_line(record.text) for record in records)
            if line.endswith("…")
        )
        long = [word for word in words if len(word) >= LEAST]
        short = [
            word
            for word in (*words, *(record.text.strip() for record in records))
            if 0 < len(word) < LEAST
        ]
        ids = {record.id for record in records}
        changed = 0
        parts = self._parts
        paths = [
            path
            for top in ("memory", "dreams", CONFLICTS, DOCUMENTS)
            for path, _ in parts.disk.walk(top, every=True)
        ]
        for path in [*paths, "MEMORY.md"]:
            data = parts.disk.read(path)
            if data is None:
                continue
            told = data.decode("utf-8", "replace")
            aside = path.startswith(f"{CONFLICTS}/")
            if aside and any(name in told for name in ids):
                parts.state.touch([(path, {"does": "purge"})])
                parts.disk.remove(path)
            else:
                lines = [(line, " ".join(line.split()).casefold()) for line in told.split("\n")]
                said = [
                    (line, plain.endswith(cut) or any(text in plain for text in texts))
                    for line, plain in lines
                ]
                # The mark in a conflict file tells that its name has to go too.
                kept = [REMOVED if gone else line for line, gone in said if aside or not gone]
                rest = redact_short(redact("\n".join(kept), long), short)
                if rest == told:
                    continue
                parts.replace_file(path, rest.encode(), data, {"does": "purge"})
            changed += 1
        if changed:
            self.notes.sync()
        return changed

    def _run_daily(self, job: Job) -> None:
        owner = Scope.parse(job.payload["owner"])
        records = self._parts.store.get(owner, list(job.payload.get("items", ())))
        self.daily.flush(NoteFlushRequest(owner, records, job.payload.get("reason", "overflow")))
        self._finish(owner, job)

    def _run_dream(self, job: Job) -> None:
        owner = Scope.parse(job.payload["owner"])
        day = job.due.date()
        try:
            self.dream(owner, self.dreams.days_back(owner, day), today=day)
        except ModelError as problem:
            raise ModelError(
                problem.message, hint=problem.hint, retryable=problem.retryable, retry_after=PAUSE
            ) from None
        self._finish(owner, job)

    def _finish(self, owner: Scope, job: Job) -> None:
        with self._parts.lock:
            self.notes.sync()
        if job.kind == DAILY:
            self.plan_dream(owner)
        self._parts.store.finish(job.lease, self._parts.clock())


class VaultOutboxWriter:
    """Writes the files that committed changes asked for (outbox).

    ``written`` is called with the owner of each batch, and what was done to each memory.
    """

    def __init__(
        self,
        parts: VaultDeps,
        intake: VaultFileImporter,
        written: Callable[[Scope, Mapping[str, str]], None],
    ) -> None:
        self.parts = parts
        self._intake = intake
        self._written = written
        self._writer = VaultFileWriter(parts)

    def flush(self, renamed: Sequence[tuple[Scope, str]], job: Job | None = None) -> int:
        """Write the outbox batch by batch; return the number of files."""
        self.execute_purges()
        written = 0
        for owner, ids in group_by_owner(renamed).items():
            edges = self.parts.store.edges(owner, ids)
            # Themselves too: without the files' own state an older file is taken for a moved one.
            written += self.write_files(
                owner,
                list(dict.fromkeys((*ids, *(edge.source for edge in edges if edge.target in ids)))),
                {},
            )
        while entries := self._next_entries():
            notes = {
                (entry.owner, entry.record): {**entry.payload, "why": entry.payload.get("why", "")}
                for entry in entries
            }
            for owner, ids in group_by_owner(
                (entry.owner, entry.record) for entry in entries
            ).items():
                written += self.write_files(owner, ids, {name: notes[owner, name] for name in ids})
                self._written(
                    owner, {name: str(notes[owner, name].get("does", "")) for name in ids}
                )
            self.parts.store.clear([entry.id for entry in entries])
            self._renew_lease(job)
        return written

    def export(self, job: Job | None) -> None:
        """Write files, once, for the memories older than the vault."""
        parts = self.parts
        if parts.state.get_fact(COMPLETE) == "1":
            return
        for owner in dict.fromkeys(scope.owner for scope in parts.store.scopes(None)):
            query = RecordQuery(
                ScopeReach(owner, (owner,), tree=True), statuses=(), order="oldest", limit=BATCH
            )
            while True:
                page = parts.store.find(query)
                known = parts.state.get(owner, [record.id for record in page.records])
                self.write_files(
                    owner, [record.id for record in page.records if record.id not in known], {}
                )
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
            gone = {
                record.id
                for record in parts.store.get(owner, ids)
                if record.status is Status.PURGED
            }
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
                count += self._writer.write(
                    owner, store.get(owner, again.blocked), notes, force=True
                ).count
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
            self.parts.store.renew(
                job.lease, self.parts.clock() + timedelta(seconds=self.parts.rules.lease)
            )
