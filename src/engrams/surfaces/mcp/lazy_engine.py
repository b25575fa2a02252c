"""Engine that opens memory when it is first used.

A client may start a server for every window; memory is opened only where a tool is called.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from engrams.settings import Settings

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class LazyEngine:
    """Open the engine on first use; close it on exit."""

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
                from engrams.composition import open as open_engine

                self._engine = open_engine(self._settings)
            return self._engine
