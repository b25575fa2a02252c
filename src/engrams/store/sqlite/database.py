"""Access to one database, in a file or in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import apsw

from engrams import encryption
from engrams.core import Scope
from engrams.errors import ClosedError, EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.process_forks import register
from engrams.store.sql.named_queries import query
from engrams.store.sqlite import connections, rescue, schema_setup
from engrams.store.sqlite.connections import ReaderConnectionPool, WriteLock
from engrams.store.sqlite.error_mapping import MAPPED_ERRORS, to_engrams_error

T = TypeVar("T")
P = ParamSpec("P")

_MAX_GROUP = 64
_CHECKPOINT_SECONDS = 0.5
"""Seconds that a checkpoint waits for readers."""

_abandoned: list[object] = []


@dataclass(slots=True, eq=False)
class _WriteTicket(Generic[T]):
    """Queued write; ``alone``: not to be grouped with others again.

    ``synced``: it survives a power failure.
    """

    work: Callable[..., T]
    given: tuple[Any, ...]
    options: dict[str, Any]
    synced: bool = True
    value: T | None = None
    error: EngramsError | None = None
    settled: bool = False
    alone: bool = False


class SqliteDatabase:
    """Connections to one database, for any number of threads.

    One thread writes at a time. Whoever holds the write lock runs all queued writes in one
    transaction, each in its own savepoint: many writers share the cost of one sync to disk, and
    none can spoil another's.
    """

    def __init__(self, path: Path | None, settings: StoreSettings, clock: Clock) -> None:
        self.path = path
        self.settings = settings
        self.label = str(path) if path else "the store in memory"
        self.notes: list[str] = []
        self.generation = 0
        """Grows when the file is replaced: caches of it are void."""
        self._rollbacks = 0
        self._clock = clock
        self._closed = False
        self._write_lock = WriteLock()
        self._guard = RLock()
        self._waiting: deque[_WriteTicket[Any]] = deque()
        self._writer: apsw.Connection | None = None
        self._is_synced = True
        """False while commits of the writing connection wait for no disk, as the last one did not.
        """
        self._writes = -1
        self._identity: tuple[int, int] | None = None
        self._pool: ReaderConnectionPool | None = None
        register(self)
        with self._use_file():
            if path is None:
                self._writer = self._open_blank()
            else:
                self._refresh()

    @property
    def exists(self) -> bool:
        """True once anything was written."""
        self._check_open()
        with self._use_file():
            return self.path is None or self._refresh()

    def get_epoch(self) -> tuple[int, int]:
        """Numbers that grow with another file, and with a rollback.

        What a write assigned before is void.
        """
        return self.generation, self._rollbacks

    # ----------------------------------------------------------------------------------------------
    # reading

    @contextmanager
    def reading(self, _: Scope | None = None, /) -> Iterator[apsw.Connection]:
        """Begin a read transaction, even before the first write.

        One file holds all owners.
        """
        with self.asking() as connection:
            if self.path is None:
                yield connection
                return
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def asking(self, _: Scope | None = None, /) -> Iterator[apsw.Connection]:
        """Lend a connection for one statement, which reads all its rows."""
        self._check_open()
        # In one generator: another one for each part takes as long as a small look-up.
        try:
            with encryption.share_home(self.path):
                if self.path is None:
                    with self._write_lock:
                        self._check_open()
                        assert self._writer is not None
                        yield self._writer
                    return
                self._refresh()
                with self._guard:
                    pool = self._pool = self._pool or self._make_pool()
                connection = pool.take()
                try:
                    yield connection
                finally:
                    pool.give_back(connection)
        except MAPPED_ERRORS as problem:
            raise to_engrams_error(problem, self.label) from problem

    def ask_together(
        self, owner: Scope, /, *statements: tuple[str, Any]
    ) -> list[list[tuple[Any, ...]]]:
        """Read by statements one after the other; the rows of each."""
        with self.asking(owner) as connection:
            return [connection.execute(text, values).fetchall() for text, values in statements]

    @contextmanager
    def _use_file(self) -> Iterator[None]:
        """Hold the home's shared lock; map errors of driver and system."""
        try:
            with encryption.share_home(self.path):
                yield
        except MAPPED_ERRORS as problem:
            raise to_engrams_error(problem, self.label) from problem

    def _make_pool(self) -> ReaderConnectionPool:
        path = self.path
        assert path is not None
        if self._identity is None:
            return ReaderConnectionPool(1, self._open_blank, apsw.Connection.close)
        generation = self.generation

        def discard(connection: apsw.Connection) -> None:
            if generation == self.generation:
                connection.close()
            else:
                connections.close_replaced(connection)

        is_passing = partial(connections.is_passing, path)
        return ReaderConnectionPool(
            self.settings.readers,
            lambda: connections.open_reader(path, self.settings),
            discard,
            is_passing,
        )

    def _open_blank(self) -> apsw.Connection:
        connection = connections.open_memory(self.settings)
        schema_setup.prepare(connection, self.label, None)
        return connection

    # ----------------------------------------------------------------------------------------------
    # writing

    def write(
        self,
        _: Scope | None,
        work: Callable[Concatenate[apsw.Connection, P], T],
        /,
        *given: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run ``work`` in a durable transaction; creates the database if missing.

        ``work`` may be run again after a rollback, so it must not have effects outside the
        database.
        """
        return self._run(_WriteTicket(work, given, options))

    def write_unsynced(self, _: Scope | None, work: Callable[[apsw.Connection], T], /) -> T:
        """Run ``work`` in a transaction that a power failure may undo.

        The next durable one makes it durable too.
        """
        return self._run(_WriteTicket(work, (), {}, synced=False))

    def _run(self, ticket: _WriteTicket[T]) -> T:
        self._check_open()
        self._waiting.append(ticket)
        if self._write_lock.acquire(lambda: ticket.settled):
            try:
                self._run_queued(ticket)
            finally:
                self._write_lock.release()
        if ticket.error is not None:
            raise ticket.error
        return cast("T", ticket.value)

    def run_exclusive(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run ``work`` on the writing connection outside a transaction.

        Nobody else in this process writes meanwhile.
        """
        with self._write_lock, self._use_file():
            return work(self._connection())

    def reload(self) -> None:
        """Void all caches after the file changed from outside."""
        with self._write_lock, self._guard:
            self._identity = None
        self._refresh()

    def checkpoint(self) -> bool:
        """Move the log into the file; False if a reader keeps it."""

        def empty(connection: apsw.Connection) -> bool:
            connections.set_busy_wait(connection, _CHECKPOINT_SECONDS)
            try:
                busy, _, _ = connection.execute(query("checkpoint")).fetchall()[0]
            finally:
                connections.set_busy_wait(connection, self.settings.busy_seconds)
            return busy == 0

        return self.path is None or self.run_exclusive(empty)

    def _run_queued(self, own: _WriteTicket[Any]) -> None:
        group = [own]
        self._waiting.remove(own)
        while not own.alone and self._waiting and len(group) < _MAX_GROUP:
            group.append(self._waiting.popleft())
        apart = [ticket for ticket in group if ticket.alone and ticket is not own]
        group = [ticket for ticket in group if ticket not in apart]
        self._waiting.extendleft(reversed(apart))
        try:
            with self._use_file():
                if len(group) > 1:
                    self._run_group(group)
                if not own.settled:
                    self._run_alone(own)
        finally:
            # The rest of a group whose transaction failed is retried, one by one.
            for ticket in group:
                if not ticket.settled and ticket is not own:
                    ticket.alone = True
                    self._waiting.append(ticket)

    def _run_group(self, group: list[_WriteTicket[Any]]) -> None:
        """Run all works in one transaction; on failure each is retried alone."""
        try:
            with self._transaction(synced=any(ticket.synced for ticket in group)) as connection:
                for ticket in group:
                    ticket.error = None
                    connection.execute("SAVEPOINT one")
                    try:
                        ticket.value = ticket.work(connection, *ticket.given, **ticket.options)
                    except EngramsError as problem:
                        ticket.error = problem
                        self._rollbacks += 1
                        connection.execute("ROLLBACK TO one")
                    connection.execute("RELEASE one")
        except (apsw.BusyError, apsw.ReadOnlyError, apsw.CantOpenError, OSError) as problem:
            # This would fail for each of them: do not retry.
            for ticket in group:
                ticket.error = to_engrams_error(problem, self.label)
                ticket.settled = True
            return
        except Exception:  # noqa: BLE001 - not swallowed: raised again when retried alone, in its own thread
            return
        for ticket in group:
            ticket.settled = True

    def _run_alone(self, ticket: _WriteTicket[Any]) -> None:
        with self._transaction(synced=ticket.synced) as connection:
            ticket.value = ticket.work(connection, *ticket.given, **ticket.options)
        ticket.error = None
        ticket.settled = True

    @contextmanager
    def _transaction(self, *, synced: bool = True) -> Iterator[apsw.Connection]:
        connection = self._begin(
            synced=synced or self.path is None or self.settings.durability == "normal"
        )
        done = False
        try:
            yield connection
            connection.execute("COMMIT")
            done = True
        finally:
            if not done:
                # Also where SQLite rolled back by itself, as on a full disk.
                self._rollbacks += 1
                if connection.in_transaction:
                    self._roll_back(connection)

    def _roll_back(self, connection: apsw.Connection) -> None:
        """Roll back; closing does so and frees the lock where it fails."""
        try:
            connection.execute("ROLLBACK")
        except apsw.Error:
            if self.path is None:
                raise
            self._writer = None
            connection.close()

    def _begin(self, *, synced: bool) -> apsw.Connection:
        while True:
            connection = self._connection()
            if synced != self._is_synced:
                connection.pragma("synchronous", "FULL" if synced else "NORMAL")
                self._is_synced = synced
            connection.execute("BEGIN IMMEDIATE")
            # Another process may have replaced the file while this one waited for the lock.
            if self.path is None or _identity(self.path) == self._identity:
                return connection
            connection.execute("ROLLBACK")

    def _connection(self) -> apsw.Connection:
        self._check_open()
        if self.path is not None:
            if not self._refresh():
                connections.create_file(self.path)
                self._refresh()
            if self._writer is None or self._writes != self.generation:
                if self._writer is not None:
                    connections.close_replaced(self._writer)
                self._writer = connections.open_writer(self.path, self.settings)
                self._is_synced = True
                self._writes = self.generation
        assert self._writer is not None
        return self._writer

    # ----------------------------------------------------------------------------------------------
    # the file

    def _refresh(self) -> bool:
        """Detect and prepare a new or replaced file; False without one."""
        assert self.path is not None
        identity = _identity(self.path)
        if identity == self._identity:
            return identity is not None
        with self._guard:
            identity = _identity(self.path)
            if identity != self._identity:
                self.generation += 1
                if self._pool is not None:
                    self._pool.close()
                    self._pool = None
                if identity is not None:
                    self.notes.extend(rescue.prepare_file(self.path, self.settings, self._clock))
                self._identity = _identity(self.path)
        return self._identity is not None

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("The store is closed.")

    def close(self) -> None:
        """Wait for the current write and close; may be called twice."""
        with self._write_lock, self._guard, encryption.share_home(self.path):
            self._closed = True
            replaced = self.path is not None and _identity(self.path) != self._identity
            self.generation += replaced
            if self._pool is not None:
                self._pool.close()
            if self._writer is not None:
                if replaced:
                    connections.close_replaced(self._writer)
                else:
                    apsw.Connection.close(self._writer)
                self._writer = None

    # ----------------------------------------------------------------------------------------------
    # forking

    def before_fork(self) -> None:
        """Let no write be under way during a fork."""
        self._write_lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Release the write lock in the parent."""
        self._write_lock.release()

    def after_fork_in_child(self) -> None:
        """Drop the parent's connections without closing them in the child."""
        if self.path is not None:
            _abandoned.append((self._pool, self._writer))
            self._pool = self._writer = None
        self._guard = RLock()
        self._waiting.clear()
        self._write_lock = WriteLock()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_dev, stat.st_ino
