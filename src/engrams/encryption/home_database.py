"""Connection to a small database of a home, such as a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.encryption.cipher_connection import connect
from engrams.encryption.home_keys import prepare_home
from engrams.encryption.home_lock import home_of

if TYPE_CHECKING:
    import apsw


class HomeDatabase:
    """Connection that is opened anew after a fork, and where the file was replaced.

    Not thread safe: the caller holds a lock, and shares the home's (``share_home``).
    """

    def __init__(self, path: Path | None, busy_seconds: float, setup: str) -> None:
        """Connect when first asked.

        ``path`` None: in memory. ``busy_seconds``: wait for other processes' writes. ``setup``:
        statements to run on each new connection.
        """
        self._path = path
        self._busy = busy_seconds
        self._setup = setup
        self._open: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._process = os.getpid()
        self._abandoned: apsw.Connection | None = None

    @property
    def is_open(self) -> bool:
        """True once it was connected."""
        return self._open is not None

    def get(self) -> apsw.Connection:
        """Open the database, or return the open connection."""
        if self._path is not None and self._process != os.getpid():
            # A connection that a fork copied belongs to the parent.
            self._abandoned = self._open
            self._open = None
            self._process = os.getpid()
        if self._open is not None and (
            self._open.in_transaction or self._identity == identify(self._path)
        ):
            return self._open
        if self._open is not None:
            close_replaced(self._open)
        self._open = self._connect()
        self._identity = identify(self._path)
        return self._open

    def close(self) -> None:
        if self._open is not None and (self._path is None or self._process == os.getpid()):
            self._open.close()
        self._open = None

    def _connect(self) -> apsw.Connection:
        import apsw

        if self._path is not None:
            prepare_home(home_of(self._path))
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = connect(
            str(self._path or ":memory:"),
            apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
            self._path,
        )
        connection.set_busy_timeout(int(self._busy * 1000))
        for _ in connection.execute(f"PRAGMA secure_delete = ON; {self._setup}"):
            pass
        return connection


def close_replaced(connection: apsw.Connection) -> None:
    """Close a connection to a file whose name now belongs to another one.

    A checkpoint works by name, and would spoil the new file's log: there is none.
    """
    import apsw

    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


def identify(path: Path | None) -> tuple[int, int] | None:
    """Identify the file that has a name now; None: there is none."""
    try:
        stat = path.stat() if path is not None else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (stat.st_dev, stat.st_ino) if stat else None
