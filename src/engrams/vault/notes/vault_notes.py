"""The notes of a vault: the jobs that write them, and what changed memories do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta

from engrams.core import Scope
from engrams.errors import ModelError
from engrams.ports import DAILY, DREAM, ChatModel, Job, NoteFlushRequest
from engrams.vault.dependencies import VaultDeps
from engrams.vault.notes.daily_notes import VaultDailyNoteWriter
from engrams.vault.notes.dream import DreamPlan, DreamRunner
from engrams.vault.notes.dream_schedule import MAX_DAYS, DreamSchedule
from engrams.vault.notes.note_index import NoteSearchIndexer
from engrams.vault.notes.note_lines import NoteLineLedger

_PAUSE = 60.0
"""Seconds between the tries of a dream whose model fails."""
_MAX_PLANNED = 10_000
"""Owners whose dream of the day is remembered as planned; planning one twice changes nothing."""


class VaultNotes:
    """Daily notes, dreams and the search index of notes."""

    def __init__(self, deps: VaultDeps, chat: ChatModel | None = None) -> None:
        self._deps = deps
        self.lines = NoteLineLedger(deps.store, deps.state)
        self.daily = VaultDailyNoteWriter(deps, self.lines, chat)
        self.dreams = DreamRunner(deps, self.lines, chat)
        self.schedule = DreamSchedule(deps)
        self.index = NoteSearchIndexer(deps, self.lines)
        self._planned: dict[str, date] = {}

    @property
    def handlers(self) -> dict[str, Callable[[Job], None]]:
        """Return the handlers of the jobs of notes, by kind."""
        return {DAILY: self._run_daily, DREAM: self._run_dream}

    def plan_dream(self, owner: Scope) -> None:
        """Enqueue the next dream by the set triggers.

        Triggers that count notes are looked at each time, the time of day once a day.
        """
        now = self._deps.clock()
        counts_notes = self._deps.settings.dream_files or self._deps.settings.dream_bytes
        if not counts_notes and self._planned.get(owner.key) == now.date():
            return
        self._planned[owner.key] = now.date()
        while len(self._planned) > _MAX_PLANNED:
            del self._planned[next(iter(self._planned))]
        spec = self.schedule.next_job(owner, now)
        if spec is not None:
            self._deps.store.enqueue([spec], now)

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

        Every door dreams by this. Earlier days that nobody summarised, as no process ran in that
        night, are summarised too. ``confirm``: hold the plan (None: as set). None: nothing new.
        """
        last_day = today or self._deps.clock().date()
        for days_back in range(min(days, MAX_DAYS) - 1, 0, -1):
            day = last_day - timedelta(days=days_back)
            if not self.daily.was_summarised(owner, day):
                self.daily.summarise(owner, day)
        self.daily.summarise(owner, last_day)
        return self.dreams.dream(owner, days, force=force, confirm=confirm, today=today)

    def follow(self, owner: Scope, actions: Mapping[str, str]) -> None:
        """Index the notes of changed memories anew; plan the next dream.

        ``actions``: what was done to each memory.
        """
        self.index.follow(owner, actions)
        self.plan_dream(owner)

    def _run_daily(self, job: Job) -> None:
        owner = Scope.parse(job.payload["owner"])
        records = self._deps.store.get(owner, list(job.payload.get("items", ())))
        reason = job.payload.get("reason", "overflow")
        self.daily.flush(NoteFlushRequest(owner, records, reason))
        self._sync_index()
        self.plan_dream(owner)
        self._deps.store.finish(job.lease, self._deps.clock())

    def _run_dream(self, job: Job) -> None:
        owner = Scope.parse(job.payload["owner"])
        day = job.due.date()
        try:
            self.dream(owner, self.schedule.days_back(owner, day), today=day)
        except ModelError as problem:
            self.schedule.note_failure(owner, day)
            raise ModelError(
                problem.message, hint=problem.hint, retryable=problem.retryable, retry_after=_PAUSE
            ) from None
        self.schedule.note_success(owner)
        self._sync_index()
        self._deps.store.finish(job.lease, self._deps.clock())

    def _sync_index(self) -> None:
        with self._deps.lock:
            self.index.sync()
