"""Run the jobs of daily notes and dreams."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from engrams.errors import ModelError
from engrams.ports import DAILY, Chat, Flush, Job
from engrams.types import Record, Scope
from engrams.vault.daily import DailyNotes
from engrams.vault.dream import DREAM, PAUSE, DreamRunner
from engrams.vault.notes import NoteIndex
from engrams.vault.parts import VaultDeps
from engrams.vault.path import CONFLICTS, DOCUMENTS

_LEAST = 12
_OWNERS = 10_000
"""Owners whose dream of the day is remembered as planned; planning one twice changes nothing."""


class DailyJobs:
    """Jobs of daily notes, dreams, and their index for search."""

    def __init__(self, parts: VaultDeps, chat: Chat | None = None) -> None:
        self._parts = parts
        self.daily, self.dreams, self.notes = DailyNotes(parts, chat), DreamRunner(parts, chat), NoteIndex(parts)
        self._planned: dict[str, date] = {}

    @property
    def handlers(self) -> dict[str, Callable[[Job], None]]:
        return {DAILY: self._run_daily, DREAM: self._run_dream}

    def plan_dream(self, owner: Scope) -> None:
        """Enqueue the next dream by the triggers that are set."""
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

    def scrub_notes(self, records: list[Record]) -> int:
        """Remove lines that repeat purged texts; return the number of files."""
        texts = [" ".join(record.text.split()).casefold() for record in records if len(record.text.strip()) >= _LEAST]
        ids = {record.id for record in records}
        changed = 0
        parts = self._parts
        paths = [path for top in ("memory", "dreams", CONFLICTS, DOCUMENTS) for path, _ in parts.disk.walk(top, every=True)]
        for path in [*paths, "MEMORY.md"]:
            data = parts.disk.read(path)
            if data is None:
                continue
            told = data.decode("utf-8", "replace")
            if path.startswith(f"{CONFLICTS}/") and any(name in told for name in ids):
                parts.state.touch([(path, {"does": "purge"})])
                parts.disk.remove(path)
            else:
                kept = [line for line in told.split("\n") if not any(text in " ".join(line.split()).casefold() for text in texts)]
                if len(kept) == told.count("\n") + 1:
                    continue
                parts.replace_file(path, "\n".join(kept).encode(), data, {"does": "purge"})
            changed += 1
        if changed:
            self.notes.sync()
        return changed

    def _run_daily(self, job: Job) -> None:
        owner = Scope.parse(job.payload["owner"])
        records = self._parts.store.get(owner, list(job.payload.get("items", ())))
        self.daily.flush(Flush(owner, records, job.payload.get("reason", "overflow")))
        self._finish(owner, job)

    def _run_dream(self, job: Job) -> None:
        """Summarise the day the dream was due, then dream."""
        owner, day = Scope.parse(job.payload["owner"]), job.due.date()
        section = self._parts.settings
        self.daily.summarise(owner, day)
        try:
            self.dreams.dream(owner, section.dream_days, today=day)
        except ModelError as problem:
            raise ModelError(problem.message, hint=problem.hint, retryable=problem.retryable, retry_after=PAUSE) from None
        self._finish(owner, job)

    def _finish(self, owner: Scope, job: Job) -> None:
        with self._parts.lock:
            self.notes.sync()
        if job.kind == DAILY:
            self.plan_dream(owner)
        self._parts.store.finish(job.lease, self._parts.clock())
