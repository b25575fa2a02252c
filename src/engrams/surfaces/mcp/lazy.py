"""An engine that opens when it is first used: a client that starts the server waits for its greeting, not for memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from engrams.settings import Settings

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class LazyEngine:
    """Stands for the engine; what opening it raises is raised by the first call. A context manager that closes it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._engine: MemoryEngine | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._open_engine(), name)

    def __enter__(self) -> MemoryEngine:
        return self  # type: ignore[return-value]

    def __exit__(self, *problem: object) -> None:
        with self._lock:
            if self._engine is not None:
                self._engine.close()

    def _open_engine(self) -> MemoryEngine:
        with self._lock:
            if self._engine is None:
                from engrams.build import open as open_engine

                self._engine = open_engine(self._settings)
            return self._engine
