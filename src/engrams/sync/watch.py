"""Wait for changes of a memory and of a place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_STEP_MS = 500
"""Milliseconds between two looks at the memory."""
_POLL_SECONDS = 30.0
"""Seconds between two exchanges where nothing tells of changes of the place."""


def iter_changes(
    folders: Sequence[Path], has_changes: Callable[[], bool], stop: Callable[[], bool]
) -> Iterator[None]:
    """Yield at once, then after each change of a folder or of the memory, until ``stop``.

    Other places tell nothing, so they are asked now and then.
    """
    yield
    asked_at = time.monotonic()
    for has_news in _look(folders):
        if stop():
            return
        is_late = time.monotonic() - asked_at >= _POLL_SECONDS
        if has_news or is_late or has_changes():
            yield
            asked_at = time.monotonic()


def _look(folders: Sequence[Path]) -> Iterator[bool]:
    """Yield every half second whether a folder changed; always False where that cannot be seen."""
    watched = [folder for folder in folders if folder.is_dir()]
    try:
        from watchfiles import watch
    except ImportError:
        watched = []
    if not watched:
        while True:
            time.sleep(_STEP_MS / 1000)
            yield False
    for changes in watch(
        *watched, step=50, rust_timeout=_STEP_MS, yield_on_timeout=True, raise_interrupt=True
    ):
        yield any(not path.endswith(".new") for _, path in changes)
