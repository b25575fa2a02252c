"""Bytes of a database file that this process may have open.

POSIX drops all locks that a process holds on a file when it closes any descriptor of that file,
those of SQLite's connections too; another process would then take the database for its own, and
spoil it. SQLite's file layer closes such a descriptor when no lock needs it.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from typing import Protocol

_INDEX = "-shm"
"""End of the name of a file beside a database that is open."""


_lock = Lock()
_peeked: dict[tuple[int, int], int] = {}
"""Descriptors by device and number of the file; each stays open as long as its file exists."""


class ByteReader(Protocol):
    """File that is read from its start on."""

    def read(self, size: int = -1, /) -> bytes: ...


class BesideReader:
    """Reader of a database file through SQLite's file layer."""

    def __init__(self, path: Path) -> None:
        """Open a file. apsw.CantOpenError: it cannot be read."""
        import apsw

        self._file = apsw.VFSFile(
            "unix", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
        )
        self._place = 0
        self._size = self._file.xFileSize()

    def __enter__(self) -> BesideReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.xClose()

    def read(self, size: int = -1, /) -> bytes:
        """Read on; fewer bytes, or none, at the end."""
        left = max(0, self._size - self._place)
        count = left if size < 0 else min(size, left)
        data = self._file.xRead(count, self._place) if count else b""
        self._place += len(data)
        return data


def open_beside(path: Path) -> AbstractContextManager[ByteReader]:
    """Open a file to read; an open database keeps its locks.

    OSError: it cannot be read.
    """
    if os.name == "nt" or not path.with_name(path.name + _INDEX).exists():
        return path.open("rb")
    import apsw

    try:
        return BesideReader(path)
    except apsw.CantOpenError:
        return path.open("rb")


def peek(path: Path, size: int) -> bytes:
    """Read the first bytes of a locked file, if there is one.

    SQLite does not look after its index of a log: the descriptor stays open until the file was
    deleted.
    """
    if os.name == "nt":
        return path.read_bytes()[:size] if path.exists() else b""
    with _lock:
        for key in [key for key, handle in _peeked.items() if not os.fstat(handle).st_nlink]:
            os.close(_peeked.pop(key))
        try:
            found = path.stat()
            key = found.st_dev, found.st_ino
            if key not in _peeked:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                found = os.fstat(handle)
                # Another file since: of two descriptors of one file the first is kept, and this one
                # too.
                _peeked.setdefault((found.st_dev, found.st_ino), handle)
                return os.pread(handle, size, 0)
        except FileNotFoundError:
            return b""
        return os.pread(_peeked[key], size, 0)
