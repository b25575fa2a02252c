"""Times of dreams: at a time of day, or once enough notes have come together."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from engrams.core import Scope
from engrams.core.clock import parse_time
from engrams.ports import DREAM, JobSpec
from engrams.vault.dependencies import VaultDeps
from engrams.vault.notes.note_paths import daily_path, memory_path

MAX_DAYS = 30
"""Days of notes that a dream reads, at most."""
_TRIES = 3
"""Attempts of the job of a dream."""


class DreamSchedule:
    """Plans the dreams of owners by the set triggers."""

    def __init__(self, deps: VaultDeps) -> None:
        self._deps = deps

    def next_job(self, owner: Scope, now: datetime) -> JobSpec | None:
        """Make the job of the next dream; None: nothing triggers one."""
        if not self._deps.settings.daily:
            return None
        due = _next_time(self._deps.settings.dream_at, now)
        if self._is_due(owner, now):
            due = now
        if due is None:
            return None
        return JobSpec(DREAM, owner.key, {"owner": owner.key}, due, attempts=_TRIES)

    def days_back(self, owner: Scope, today: date) -> int:
        """Count the days that a scheduled dream reads.

        As set; at least from the earliest night whose dream failed, and, where notes or size start
        dreams, from the day of the last one.
        """
        section = self._deps.settings
        first_day = today - timedelta(days=section.dream_days - 1)
        if failed := self._deps.state.get_fact(_failed_night(owner)):
            first_day = min(first_day, date.fromisoformat(failed))
        if section.dream_files or section.dream_bytes:
            first_day = min(first_day, self._last_day(owner, today))
        return (today - first_day).days + 1

    def note_failure(self, owner: Scope, night: date) -> None:
        """Keep the night whose dream failed, so that the next one reads its notes too."""
        if not self._deps.state.get_fact(_failed_night(owner)):
            self._deps.state.set_fact(_failed_night(owner), night.isoformat())

    def note_success(self, owner: Scope) -> None:
        """Forget the failed nights: their notes were read."""
        if self._deps.state.get_fact(_failed_night(owner)):
            self._deps.state.set_fact(_failed_night(owner), "")

    def _last_day(self, owner: Scope, today: date) -> date:
        """Find the day of the last dream, or the earliest that is read."""
        last = self._deps.state.get_fact(f"dreamt:{owner.key}")
        return parse_time(last).date() if last else today - timedelta(days=MAX_DAYS)

    def _is_due(self, owner: Scope, now: datetime) -> bool:
        """Return True where the notes since the last dream reach the set number or size."""
        section = self._deps.settings
        if not section.dream_files and not section.dream_bytes:
            return False
        today = now.date()
        disk = self._deps.disk
        days = (today - self._last_day(owner, today)).days
        stats = [
            disk.stat(daily_path(owner, today - timedelta(days=days_back)))
            for days_back in range(days)
        ]
        notes = [stat for stat in stats if stat is not None]
        if section.dream_files and len(notes) >= section.dream_files:
            return True
        memory = disk.stat(memory_path(owner))
        size = sum(stat.size for stat in notes) + (memory.size if memory else 0)
        return bool(section.dream_bytes) and bool(notes) and size >= section.dream_bytes


def _failed_night(owner: Scope) -> str:
    """Name of the note of the earliest night without a dream."""
    return f"undreamt:{owner.key}"


def _next_time(time_of_day: str, now: datetime) -> datetime | None:
    """Return the next moment with a time of day ("03:30"); None where none is set."""
    if not time_of_day:
        return None
    hour, _, minute = time_of_day.partition(":")
    due = now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    return due if due > now else due + timedelta(days=1)
