"""Provide a temporary engine and a settable clock for tests."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_OBJECTS = ("clock", "embedder", "chat")


@contextmanager
def temp_engine(**settings: Any) -> Iterator[MemoryEngine]:
    """Open an engine in a fresh home folder, deleted at the end.

    The caller's own settings are ignored.

    ``settings`` by name, two underscores before a section's setting: ``temp_engine(read__limit=3)``. ``clock``, ``embedder`` and ``chat``
    take objects. Without ``embedder`` it is the engine's own default. SettingsError: a name is unknown."""
    from engrams.build import open as open_engine
    from engrams.settings import load

    objects = {name: settings.pop(name) for name in _OBJECTS if name in settings}
    named = {name.replace("__", "."): value for name, value in settings.items()}
    with tempfile.TemporaryDirectory(prefix="engrams-") as folder:
        home = {"home": str(Path(folder) / "home")}
        with open_engine(load(home | named, environ={}).settings, **objects) as engine:
            yield engine


_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Ticker:
    """Implement the Clock port with a settable time.

    It may go backwards. ``step``: seconds it advances after each reading.

    clock = Ticker("2026-03-01T12:00") clock.forward(days=2); clock.back(minutes=5); clock.set("2025-01-01")"""

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
