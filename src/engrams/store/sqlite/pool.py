"""Pool of reading connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

import apsw


class ConnectionPool:
    """At most ``limit`` connections, made on demand; borrowers wait."""

    def __init__(self, limit: int, make: Callable[[], apsw.Connection], discard: Callable[[apsw.Connection], None]) -> None:
        self._make = make
        self._discard = discard
        self._free = BoundedSemaphore(limit)
        self._lock = Lock()
        self._idle: list[apsw.Connection] = []
        self._open = True

    @contextmanager
    def borrow(self) -> Iterator[apsw.Connection]:
        """Lend a connection inside a read transaction."""
        with self._free:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._make()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give_back(connection)

    def close(self) -> None:
        """Discard idle connections now, lent ones on return."""
        with self._lock:
            self._open = False
            idle, self._idle = self._idle, []
        for connection in idle:
            self._discard(connection)

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._lock:
            if self._open:
                self._idle.append(connection)
                return
        self._discard(connection)
