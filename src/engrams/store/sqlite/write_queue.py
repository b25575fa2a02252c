"""Queue of writes to one database: many threads share the cost of one sync to disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

import apsw

from engrams.errors import EngramsError
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sqlite.connections import WriteLock
from engrams.store.sqlite.error_mapping import to_engrams_error

T = TypeVar("T")

_MAX_GROUP = 64
"""Writes that share one transaction."""


class WritableDatabase(Protocol):
    """Database, as far as the queue needs it."""

    label: str
    seals: RowSeals

    def use_file(self) -> AbstractContextManager[None]:
        """Hold the home's shared lock; map errors of driver and system."""
        ...

    def transaction(self, *, synced: bool = True) -> AbstractContextManager[apsw.Connection]:
        """Begin a transaction, which is committed at the end, or rolled back on an error."""
        ...

    def note_rollback(self) -> None:
        """Void what a write assigned that was undone."""
        ...


@dataclass(slots=True, eq=False)
class WriteTicket(Generic[T]):
    """Queued write, with what became of it."""

    work: Callable[..., T]
    """Is given the connection; may be run again after a rollback."""
    arguments: tuple[Any, ...]
    """Those behind the connection."""
    options: dict[str, Any]
    synced: bool = True
    """True: it survives a power failure."""
    value: T | None = None
    """Result of ``work``."""
    error: EngramsError | None = None
    settled: bool = False
    """True once there is a result or an error."""
    alone: bool = False
    """True: it is not to be grouped with others again."""

    def run(self, connection: apsw.Connection) -> None:
        self.value = self.work(connection, *self.arguments, **self.options)


class WriteQueue:
    """Writes of any number of threads.

    Whoever holds the lock runs all queued writes in one transaction, each in its own savepoint: none
    can spoil another's.
    """

    def __init__(self, database: WritableDatabase) -> None:
        self._database = database
        self._waiting: deque[WriteTicket[Any]] = deque()
        self.lock = WriteLock()
        """Held while anything is written."""

    def run(self, ticket: WriteTicket[T]) -> T:
        """Run a write, or wait until another thread has; return its result."""
        self._waiting.append(ticket)
        if self.lock.acquire(lambda: ticket.settled):
            try:
                self._run_queued(ticket)
            finally:
                self.lock.release()
        if ticket.error is not None:
            raise ticket.error
        return cast("T", ticket.value)

    def _run_queued(self, own_ticket: WriteTicket[Any]) -> None:
        """Run this thread's own write, and what others have queued."""
        group = self._take_group(own_ticket)
        try:
            with self._database.use_file():
                if len(group) > 1:
                    self._run_group(group)
                if not own_ticket.settled:
                    self._run_alone(own_ticket)
        finally:
            # The rest of a group whose transaction failed is retried, one by one.
            for ticket in group:
                if not ticket.settled and ticket is not own_ticket:
                    ticket.alone = True
                    self._waiting.append(ticket)

    def _take_group(self, own_ticket: WriteTicket[Any]) -> list[WriteTicket[Any]]:
        """Take the own write from the queue, and others that may join it, in their order."""
        self._waiting.remove(own_ticket)
        candidates: list[WriteTicket[Any]] = []
        while not own_ticket.alone and self._waiting and len(candidates) + 1 < _MAX_GROUP:
            candidates.append(self._waiting.popleft())
        self._waiting.extendleft(ticket for ticket in reversed(candidates) if ticket.alone)
        return [own_ticket, *(ticket for ticket in candidates if not ticket.alone)]

    def _run_group(self, group: list[WriteTicket[Any]]) -> None:
        """Run all writes in one transaction; on failure each is retried alone."""
        synced = any(ticket.synced for ticket in group)
        try:
            with self._database.transaction(synced=synced) as connection:
                for ticket in group:
                    self._run_in_savepoint(connection, ticket)
        except (apsw.BusyError, apsw.ReadOnlyError, apsw.CantOpenError, OSError) as problem:
            # This would fail for each of them: do not retry.
            for ticket in group:
                ticket.error = to_engrams_error(problem, self._database.label)
                ticket.settled = True
            return
        except Exception:  # noqa: BLE001 - not swallowed: raised again when retried alone, in its own thread
            return
        for ticket in group:
            ticket.settled = True

    def _run_in_savepoint(self, connection: apsw.Connection, ticket: WriteTicket[Any]) -> None:
        ticket.error = None
        seals = self._database.seals
        changes = dict(seals.changes)
        connection.execute("SAVEPOINT one")
        try:
            ticket.run(connection)
        except EngramsError as problem:
            ticket.error = problem
            self._database.note_rollback()
            connection.execute("ROLLBACK TO one")
            seals.changes = changes
        connection.execute("RELEASE one")

    def _run_alone(self, ticket: WriteTicket[Any]) -> None:
        with self._database.transaction(synced=ticket.synced) as connection:
            ticket.run(connection)
        ticket.error = None
        ticket.settled = True
