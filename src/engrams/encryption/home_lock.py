"""Lock of a home folder, so that its key does not change while somebody reads or writes in it.

Readers and writers of files share the lock; a change of the key holds it alone. Processes lock each
other by the file ``.lock`` in the home. On Windows there is no lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from engrams.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_SUBFOLDERS = ("ledgers", "audit", "uploads")
"""Folders of a home that hold encrypted files."""
_LOCK_NAME = ".lock"
_RETRY_SECONDS = 0.01


def home_of(path: Path) -> Path:
    """Find the home that a file belongs to."""
    folder = (path if path.is_absolute() else path.expanduser().absolute()).parent
    return folder.parent if folder.name in _SUBFOLDERS else folder


class SharedHomeLock:
    """Shared lock of the home that a file belongs to; a context manager.

    It is a class and no generator because each read of a store takes one, and this is quicker.
    """

    __slots__ = ("_handle", "_path")

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._handle: int | None = None

    def __enter__(self) -> None:
        handle = None if self._path is None else _open_lock_of(self._path)
        if handle is not None and fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH)
            except BaseException:
                os.close(handle)
                raise
        self._handle = handle

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)


def share_home(path: Path | None) -> SharedHomeLock:
    """Share the lock of a file's home within the block; ``path`` None: a database in memory."""
    return SharedHomeLock(path)


@contextmanager
def hold_home(home: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a home alone.

    StoreError: others did not release it within ``seconds``.
    """
    handle = _open_lock(_name_lock(home), make=True)
    if handle is None or fcntl is None:
        raise StoreError(
            f"{home} cannot be locked.", hint="Give this user write permission on the folder."
        )
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreError(
                        f"{home} is in use.", hint="Stop the programs that use it, and repeat."
                    ) from None
                time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(handle)


def _open_lock_of(path: Path) -> int | None:
    """Open the lock of a file's home; make it where the file exists."""
    # Each read does this. The lock is nearly always there, and to join the path takes longer than
    # to open it: so names are cached, and the file is looked for only without a lock.
    name = _name_lock_of(path) if path.is_absolute() else _name_lock(home_of(path))
    handle = _open_lock(name, make=False)
    return _open_lock(name, make=True) if handle is None and path.exists() else handle


@lru_cache(maxsize=256)
def _name_lock(home: Path) -> str:
    return str(home / _LOCK_NAME)


@lru_cache(maxsize=256)
def _name_lock_of(path: Path) -> str:
    return _name_lock(home_of(path))


def _open_lock(name: str, *, make: bool) -> int | None:
    """Open a home's lock file; None where it does not exist or must not be written."""
    if fcntl is None:
        return None
    try:
        return os.open(name, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0), 0o600)
    except OSError:
        return None
