"""Opening of SQLite connections, the pool of those that read, and the lock of the one that writes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Lock
from types import TracebackType
from typing import Any
from urllib.parse import quote

import apsw

from engrams import encryption
from engrams.encryption.header import sync_folder
from engrams.settings import StoreSettings
from engrams.store.sql.named_queries import query
from engrams.store.sqlite.error_mapping import is_full
from engrams.text.normalize import fold

_MAX_BUSY_PAUSE = 0.004
"""Seconds between two looks at another process's lock."""
_LOG_PAGES = 4000
"""Pages in the log before a commit checkpoints it: few writes wait for that."""
_LOG_BYTES = 64 << 20
_CACHE_KB = 16_000
"""Page cache of a connection: a search reads a hundred rows from all over the file."""


def create_file(path: Path) -> None:
    """Create the folder (0700) and an empty file (0600) if missing."""
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_folder(path.parent.parent)
    encryption.prepare_home(encryption.home_of(path))
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
    sync_folder(path.parent)


def open_writer(path: Path, settings: StoreSettings) -> apsw.Connection:
    """Open a connection that writes; the file exists."""
    connection = _connect(str(path), settings, apsw.SQLITE_OPEN_READWRITE, path)
    _retry_busy(connection, query("wal_mode"), settings)
    connection.wal_autocheckpoint(_LOG_PAGES)
    connection.pragma("journal_size_limit", _LOG_BYTES)
    connection.pragma("cache_size", -_CACHE_KB)
    is_durable = settings.durability == "full"
    connection.pragma("synchronous", "FULL" if is_durable else "NORMAL")
    # On macOS a plain sync leaves a write in the drive's cache, which a power failure empties.
    connection.pragma("fullfsync", is_durable)
    return connection


def open_reader(path: Path, settings: StoreSettings) -> apsw.Connection:
    """Open a read-only connection.

    It needs no right to write, and no room on the disk.
    """
    connection = _connect(str(path), settings, apsw.SQLITE_OPEN_READWRITE, path)
    try:
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError) as problem:
        # A log cannot be shared in a read-only folder or on a full disk; without one nothing can
        # change.
        log = path.with_name(path.name + "-wal")
        if (os.access(path.parent, os.W_OK) and not is_full(problem)) or (
            log.exists() and log.stat().st_size
        ):
            raise
        connection.close()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = _connect(
            f"file:{quote(str(path.absolute()))}?immutable=1", settings, flags, path
        )
    connection.pragma("query_only", "ON")
    connection.pragma("cache_size", -_CACHE_KB)
    return connection


def is_passing(path: Path, connection: apsw.Connection) -> bool:
    """True for a reader that would not see changes, where the folder can be written by now."""
    return bool(connection.open_flags & apsw.SQLITE_OPEN_URI) and os.access(path.parent, os.W_OK)


def open_memory(settings: StoreSettings) -> apsw.Connection:
    """Open a database of its own in memory."""
    return _connect(":memory:", settings, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)


def set_busy_wait(connection: apsw.Connection, seconds: float) -> None:
    """Wait up to ``seconds`` for other processes' locks, polling often.

    SQLite's own handler soon sleeps for a tenth of a second at a time, and would starve beside a
    process that writes without a pause.
    """
    started_at = 0.0

    def wait(count: int) -> bool:
        """Wait a moment before the next attempt, the ``count``-th; False: give up."""
        nonlocal started_at
        now = time.monotonic()
        if count == 0:
            started_at = now
        if now - started_at >= seconds:
            return False
        time.sleep(min(0.0005 * (count + 1), _MAX_BUSY_PAUSE))
        return True

    connection.set_busy_handler(wait)


def close_replaced(connection: apsw.Connection) -> None:
    """Close a connection to a replaced file without a checkpoint.

    Its clean-up works by name, and would remove the new file's log.
    """
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


def _connect(
    name: str, settings: StoreSettings, flags: int, path: Path | None = None
) -> apsw.Connection:
    connection = encryption.connect(name, flags, path)
    set_busy_wait(connection, settings.busy_seconds)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.pragma("temp_store", "MEMORY")
    # Overwrite freed space: purged text must not stay readable in the file.
    connection.pragma("secure_delete", "ON")
    connection.create_scalar_function("fold", _fold, 1, deterministic=True)
    return connection


def _fold(*texts: Any) -> str:
    return fold(str(texts[0]))


def _retry_busy(connection: apsw.Connection, statement: str, settings: StoreSettings) -> None:
    end = time.monotonic() + settings.busy_seconds
    while True:
        try:
            connection.execute(statement).fetchall()
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() >= end:
                raise
            time.sleep(_MAX_BUSY_PAUSE)
        else:
            return


class WriteLock:
    """Lock whose wait ends early once the work is done by another."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._taken = False

    def acquire(self, settled: Callable[[], bool] | None = None) -> bool:
        """Wait for the lock; False: ``settled`` came true, and it was not acquired."""
        with self._condition:
            while True:
                if settled is not None and settled():
                    return False
                if not self._taken:
                    self._taken = True
                    return True
                self._condition.wait()

    def release(self) -> None:
        """Release the lock and wake all waiters."""
        with self._condition:
            self._taken = False
            self._condition.notify_all()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class ReaderConnectionPool:
    """At most ``limit`` connections, made on demand; borrowers wait.

    Those that ``is_passing`` names are discarded on return.
    """

    def __init__(
        self,
        limit: int,
        make: Callable[[], apsw.Connection],
        discard: Callable[[apsw.Connection], None],
        is_passing: Callable[[apsw.Connection], bool] = lambda _: False,
    ) -> None:
        self._make = make
        self._discard = discard
        self._is_passing = is_passing
        self._free = limit
        """Connections that may still be lent."""
        self._lock = Lock()
        self._freed = Condition(self._lock)
        self._waiting = 0
        """Borrowers that wait for one."""
        self._idle: list[apsw.Connection] = []
        self._open = True

    def take(self) -> apsw.Connection:
        """Take a connection, which is to be given back."""
        with self._lock:
            while not self._free:
                self._waiting += 1
                try:
                    self._freed.wait()
                finally:
                    self._waiting -= 1
            self._free -= 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._make()
        except BaseException:
            with self._lock:
                self._release()
            raise

    def give_back(self, connection: apsw.Connection) -> None:
        """Give a connection back, to be lent again or discarded."""
        with self._lock:
            self._release()
            if self._open and not self._is_passing(connection):
                self._idle.append(connection)
                return
        self._discard(connection)

    def close(self) -> None:
        """Discard idle connections now, lent ones on return."""
        with self._lock:
            self._open = False
            idle = self._idle
            self._idle = []
        for connection in idle:
            self._discard(connection)

    def _release(self) -> None:
        self._free += 1
        if self._waiting:
            self._freed.notify()
