"""Database of one session log: a small SQLite file in the home, or in memory."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple
from pathlib import Path
from threading import RLock
from typing import Any

from engrams import encryption
from engrams.errors import StoreError
from engrams.ports import SessionLogRow, SessionLogSearch
from engrams.settings import Settings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, owner TEXT, session TEXT NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS records_at ON records (at);
"""
_PUT = "INSERT OR IGNORE INTO records (id, at, owner, session, data) VALUES (?, ?, ?, ?, ?)"
_LIST = """
SELECT id, at, owner, session, data FROM records
WHERE at >= :since AND at < :until AND (:session = '' OR session = :session)
    AND (:owner = '' OR owner = :owner OR substr(owner, 1, length(:owner) + 1) = :owner || '/')
ORDER BY at DESC, place DESC LIMIT :limit
"""
_PURGE = "DELETE FROM records WHERE at < ?"
_KEY_BYTES = 32
_BUSY_SECONDS = 5.0


def home_folder(settings: Settings) -> Path | None:
    """Return the home folder; None where memory is in this process only."""
    return None if settings.is_volatile else settings.home.expanduser()


def make_private(folder: Path) -> None:
    """Make a folder, and the home above it, for their owner alone."""
    folder.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


class SessionLogDatabase:
    """Log in a file beside its hash key, or in memory.

    Thread safe; several processes may write.
    """

    def __init__(self, path: Path | None) -> None:
        """Open nothing yet. ``path`` None: in memory."""
        self._path = path
        self._lock = RLock()
        self._key = b""
        self._database = encryption.HomeDatabase(path, _BUSY_SECONDS, _SCHEMA)

    @property
    def exists(self) -> bool:
        return self._database.is_open if self._path is None else self._path.is_file()

    def load_key(self) -> bytes:
        with self._lock, self._map_errors():
            if self._key:
                return self._key
            if self._path is None:
                self._key = secrets.token_bytes(_KEY_BYTES)
            else:
                self._key = _load_key(self._key_path)
            return self._key

    def find_key(self) -> bytes:
        with self._lock, self._map_errors():
            if self._path is not None and self._key_path.is_file():
                return self._key_path.read_bytes()[:_KEY_BYTES]
            return self._key

    def save_key(self, key: bytes) -> None:
        with self._lock, self._map_errors():
            self._key = key
            if self._path is not None:
                make_private(self._path.parent)
                new_path = self._key_path.with_name(f"{self._key_path.name}.{os.getpid()}.new")
                new_path.unlink(missing_ok=True)
                _append_key(new_path, key)
                new_path.replace(self._key_path)

    def add(self, row: SessionLogRow) -> bool:
        return self._execute(_PUT, astuple(row)) > 0

    def find(self, query: SessionLogSearch) -> list[SessionLogRow]:
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            return [SessionLogRow(*row) for row in self._connection().execute(_LIST, asdict(query))]

    def purge(self, before: int) -> int:
        return self._execute(_PURGE, (before,))

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _execute(self, statement: str, values: tuple[Any, ...]) -> int:
        """Run a statement; return the number of changed rows."""
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            connection = self._connection()
            connection.execute(statement, values)
            return int(connection.changes())

    def _connection(self) -> Any:
        if self._path is not None:
            make_private(self._path.parent)
        return self._database.get()

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except OSError as problem:
            raise StoreError(
                f"{self._location}: {problem.strerror or problem}.",
                hint="Look at the folder and the disk.",
            ) from problem
        except apsw.Error as problem:
            raise StoreError(
                f"{self._location}: {problem}.",
                hint="Look at the disk; a damaged file may be moved away.",
            ) from problem

    @property
    def _key_path(self) -> Path:
        assert self._path is not None
        return self._path.with_name("session.key")

    @property
    def _location(self) -> str:
        return str(self._path or ":memory:")


def _load_key(path: Path) -> bytes:
    make_private(path.parent)
    key = _append_key(path, secrets.token_bytes(_KEY_BYTES))
    if len(key) < _KEY_BYTES:
        raise OSError(f"{path.name} could not be written whole")
    return key


def _append_key(path: Path, key: bytes) -> bytes:
    """Append a key to a file that has none; return the key of the file."""
    # Several processes may make the file at once. Each appends its key and reads the beginning, so
    # that all of them get the key that was first.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        if os.fstat(handle).st_size < _KEY_BYTES:
            os.write(handle, key)
            os.fsync(handle)
        os.lseek(handle, 0, os.SEEK_SET)
        return os.read(handle, _KEY_BYTES)
    finally:
        os.close(handle)
