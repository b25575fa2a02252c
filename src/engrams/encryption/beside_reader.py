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
"""Device and inode of a file -> descriptor, which stays open as long as the file exists."""


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
        self._position = 0
        self._size = self._file.xFileSize()

    def __enter__(self) -> BesideReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.xClose()

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes; fewer, or none, at the end."""
        remaining = max(0, self._size - self._position)
        count = remaining if size < 0 else min(size, remaining)
        data = self._file.xRead(count, self._position) if count else b""
        self._position += len(data)
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
    """Read the first bytes of the index of a database's log; empty where there is none.

    SQLite's file layer does not look after this file: the descriptor stays open until the file is
    deleted, because closing it would drop the locks.
    """
    if os.name == "nt":
        return path.read_bytes()[:size] if path.exists() else b""
    with _lock:
        for key in [key for key, handle in _peeked.items() if not os.fstat(handle).st_nlink]:
            os.close(_peeked.pop(key))
        try:
            stat = path.stat()
            key = stat.st_dev, stat.st_ino
            if key not in _peeked:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                stat = os.fstat(handle)
                # The name may belong to another file by now, of which a descriptor is open already.
                # That one stays in the table; neither of the two may be closed.
                _peeked.setdefault((stat.st_dev, stat.st_ino), handle)
                return os.pread(handle, size, 0)
        except FileNotFoundError:
            return b""
        return os.pread(_peeked[key], size, 0)
