"""Lock of a folder between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one process, where folders can be locked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        # Closing alone would leave it to a child that was forked meanwhile.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
