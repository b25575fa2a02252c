"""Folders in which copies of a home are made, locked as long as somebody works in them.

A process that is killed leaves its folder behind, with a plain copy of memory. Whoever works in the
same place next removes it, and so does a purge.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIXES = ("engrams-backup-", "engrams-purge-", "engrams-rescue-", "engrams-look-")
_SECONDS_TO_LOCK = 1.0
"""Age of a folder from which it would be locked if somebody worked in it."""


@contextmanager
def make_work_folder(task: str, parent: Path) -> Iterator[Path]:
    """Make a folder for a task, ``backup`` for example; it is removed at the end.

    Before that, folders are removed that killed processes left in ``parent``.
    """
    remove_left_folders(parent)
    with tempfile.TemporaryDirectory(prefix=f"engrams-{task}-", dir=parent) as folder:
        handle = _lock(Path(folder))
        try:
            yield Path(folder)
        finally:
            if handle is not None:
                os.close(handle)


def remove_left_folders(parent: Path) -> int:
    """Remove the folders of killed processes; return their number.

    On Windows no folder can be locked, and none is removed.
    """
    count = 0
    for prefix in _PREFIXES:
        for folder in parent.glob(f"{prefix}*"):
            if folder.is_symlink() or not folder.is_dir() or _is_new(folder):
                continue
            handle = _lock(folder)
            if handle is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(handle)
                count += 1
    return count


def _is_new(folder: Path) -> bool:
    """Test for a folder that its maker may not have locked yet."""
    return time.time() - folder.stat().st_mtime < _SECONDS_TO_LOCK


def _lock(folder: Path) -> int | None:
    """Lock a folder until the returned handle is closed; None: somebody works in it."""
    if fcntl is None:
        return None
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if handle is not None:
            os.close(handle)
        return None
    return handle
