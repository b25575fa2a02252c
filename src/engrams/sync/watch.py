"""Wait for changes of a memory and of a place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

_STEP_MS = 500
"""Milliseconds between two looks at the memory."""
_POLL_SECONDS = 30.0
"""Seconds between two exchanges where nothing tells of changes of the place."""


def iter_changes(
    folder: Path | None, has_changes: Callable[[], bool], stop: Callable[[], bool]
) -> Iterator[None]:
    """Yield at once, then after each change of the folder or of the memory, until ``stop``.

    ``folder`` None: the place tells nothing, so that it is asked now and then.
    """
    yield
    asked_at = time.monotonic()
    for has_news in _look(folder):
        if stop():
            return
        is_late = time.monotonic() - asked_at >= _POLL_SECONDS
        if has_news or is_late or has_changes():
            yield
            asked_at = time.monotonic()


def _look(folder: Path | None) -> Iterator[bool]:
    """Yield every half second whether a folder changed; always False where that cannot be seen."""
    try:
        from watchfiles import watch
    except ImportError:
        folder = None
    if folder is None or not folder.is_dir():
        while True:
            time.sleep(_STEP_MS / 1000)
            yield False
    for changes in watch(
        folder, step=50, rust_timeout=_STEP_MS, yield_on_timeout=True, raise_interrupt=True
    ):
        yield any(not path.endswith(".new") for _, path in changes)
