"""A clock that tests set."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class SettableClock:
    """Implement the Clock port with a settable time.

    It may go backwards. ``step``: seconds it advances after each reading.

    clock = SettableClock("2026-03-01T12:00") clock.forward(days=2); clock.back(minutes=5);
    clock.set("2025-01-01")
    """

    def __init__(self, start: datetime | str = _START, *, step: float = 0.0) -> None:
        """Set the start; a time without a zone is UTC."""
        self._lock = threading.Lock()
        self._now = _to_utc(start)
        self._step = timedelta(seconds=step)

    def __call__(self) -> datetime:
        with self._lock:
            now = self._now
            self._now += self._step
            return now

    def set(self, moment: datetime | str) -> datetime:
        """Set the time and return it."""
        with self._lock:
            self._now = _to_utc(moment)
            return self._now

    def forward(self, seconds: float = 0.0, **delta: float) -> datetime:
        """Advance by seconds or ``timedelta`` arguments; return the new time."""
        with self._lock:
            self._now += timedelta(seconds=seconds, **delta)
            return self._now

    def back(self, seconds: float = 0.0, **delta: float) -> datetime:
        """Go back by seconds or ``timedelta`` arguments."""
        with self._lock:
            self._now -= timedelta(seconds=seconds, **delta)
            return self._now


def _to_utc(value: datetime | str) -> datetime:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
