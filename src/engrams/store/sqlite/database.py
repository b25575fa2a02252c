"""Access to one database, in a file or in memory.

Enter at ``SqliteDatabase``: ``reading`` and ``asking`` lend connections, ``write`` runs a function
in a transaction. It notices when the file was made, replaced or removed by another process, and
has it prepared before its first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from engrams import encryption
from engrams.core import Scope
from engrams.encryption.seal_keys import KEY_BYTES
from engrams.errors import ClosedError, StoreError
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.process_forks import register
from engrams.store.sql.named_queries import query
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sqlite import (
    connections,
    ledger_mark,
    rescue,
    schema_setup,
    seal_setup,
    table_sums,
)
from engrams.store.sqlite.connections import ReaderConnectionPool
from engrams.store.sqlite.error_mapping import MAPPED_ERRORS, to_engrams_error
from engrams.store.sqlite.write_queue import WriteQueue, WriteTicket

T = TypeVar("T")
P = ParamSpec("P")

_CHECKPOINT_SECONDS = 2.0
"""Seconds that the checkpoint of a purge waits for readers: a search of a busy machine ends by then."""

_abandoned: list[object] = []
"""Connections of the parent process: closing them in a child would break the parent's locks."""


class SqliteDatabase:
    """Connections to one database, for any number of threads.

    One thread writes at a time; writes that wait share a transaction (``WriteQueue``).
    """

    def __init__(self, path: Path | None, settings: StoreSettings, clock: Clock) -> None:
        self.path = path
        self.settings = settings
        self.label = str(path) if path else "the store in memory"
        refuses = settings.altered == "refuse"
        self.seals = RowSeals(b"" if path else os.urandom(KEY_BYTES), refuses=refuses)
        self.notes: list[str] = []
        """What was done to the file on opening, for the doctor."""
        self.generation = 0
        """Grows when the file is replaced: caches of it are void."""
        self._rollbacks = 0
        """Grows with each: caches of what a write assigned are void."""
        self._clock = clock
        self._closed = False
        self._guard = RLock()
        """Held while the file is looked at, and connections to it are exchanged."""
        self._writes = WriteQueue(self)
        self._writer: apsw.Connection | None = None
        self._is_synced = True
        """True while the writing connection waits for the disk when it commits."""
        self._writer_generation = -1
        """Generation of the file that the writing connection has open."""
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file that is open; None: there is none."""
        self._pool: ReaderConnectionPool | None = None
        register(self)
        with self.use_file():
            if path is None:
                self._writer = connections.open_memory(settings)
                schema_setup.prepare(self._writer, self.label, None)
            elif not self._refresh() and (note := seal_setup.tell_missing(path, settings)):
                self.notes.append(note)

    @property
    def exists(self) -> bool:
        """True once anything was written."""
        self._check_open()
        with self.use_file():
            return self.path is None or self._refresh()

    def get_epoch(self) -> tuple[int, int]:
        """Get numbers that grow with another file, and with a rollback.

        What a write assigned before is void then.
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
                    with self._writes.lock:
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
        """Read by statements, each with its parameters, one after the other; the rows of each."""
        with self.asking(owner) as connection:
            return [
                connection.execute(statement, parameters).fetchall()
                for statement, parameters in statements
            ]

    @contextmanager
    def use_file(self) -> Iterator[None]:
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
        """Open what a home without a database is read from."""
        connection = connections.open_memory(self.settings)
        connection.deserialize("main", schema_setup.blank_image())
        return connection

    # ----------------------------------------------------------------------------------------------
    # writing

    def write(
        self,
        _: Scope | None,
        work: Callable[Concatenate[apsw.Connection, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run ``work`` in a durable transaction; creates the database if missing.

        ``work`` may be run again after a rollback, so it must not have effects outside the
        database.
        """
        self._check_open()
        return self._writes.run(WriteTicket(work, arguments, options))

    def write_unsynced(self, _: Scope | None, work: Callable[[apsw.Connection], T], /) -> T:
        """Run ``work`` in a transaction that a power failure may undo.

        The next durable one makes it durable too.
        """
        self._check_open()
        return self._writes.run(WriteTicket(work, (), {}, synced=False))

    def run_exclusive(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run ``work`` on the writing connection outside a transaction.

        Nobody else in this process writes meanwhile.
        """
        with self._writes.lock, self.use_file():
            return work(self._connection())

    def reload(self) -> None:
        """Void all caches after the file changed from outside."""
        with self._writes.lock, self._guard:
            self._identity = None
        self._refresh()

    def checkpoint(self) -> bool:
        """Move the log into the file; False if a reader keeps it."""

        def truncate_log(connection: apsw.Connection) -> bool:
            connections.set_busy_wait(connection, _CHECKPOINT_SECONDS)
            try:
                busy, _, _ = connection.execute(query("checkpoint")).fetchall()[0]
            finally:
                connections.set_busy_wait(connection, self.settings.busy_seconds)
            return busy == 0

        return self.path is None or self.run_exclusive(truncate_log)

    def note_rollback(self) -> None:
        """Void what a write assigned that was undone."""
        self._rollbacks += 1

    @contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[apsw.Connection]:
        """Begin a transaction, which is committed at the end, or rolled back on an error."""
        connection = self._begin(
            synced=synced or self.path is None or self.settings.durability == "normal"
        )
        is_committed = False
        try:
            self.seals.changes.clear()
            yield connection
            table_sums.save_changes(connection, self.seals)
            connection.execute("COMMIT")
            is_committed = True
        finally:
            if not is_committed:
                # Also where SQLite rolled back by itself, as on a full disk.
                self.note_rollback()
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
            if self._writer is None or self._writer_generation != self.generation:
                if self._writer is not None:
                    connections.close_replaced(self._writer)
                self._writer = connections.open_writer(self.path, self.settings)
                table_sums.watch_rows(self._writer, self.seals)
                self._is_synced = True
                self._writer_generation = self.generation
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
                    if note := seal_setup.use_key(self.path, self.settings, self.seals):
                        self.notes.append(note)
                self._identity = _identity(self.path)
        return self._identity is not None

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("The store is closed.")

    def close(self) -> None:
        """Wait for the current write and close; may be called twice."""
        with self._writes.lock, self._guard, encryption.share_home(self.path):
            self._closed = True
            replaced = self.path is not None and _identity(self.path) != self._identity
            self.generation += replaced
            if self._pool is not None:
                self._pool.close()
            if self._writer is not None:
                if replaced:
                    connections.close_replaced(self._writer)
                else:
                    self._note_ledger(self._writer)
                    apsw.Connection.close(self._writer)
                self._writer = None

    def _note_ledger(self, writer: apsw.Connection) -> None:
        """Note the number of the ledger of files at the end, unless another process writes.

        The next process that ends notes it then.
        """
        if self.path is None or self.seals.is_blind:
            return
        ledger = ledger_mark.open_ledger(self.path, self.settings)
        with suppress(apsw.Error, OSError, StoreError):
            if ledger_mark.is_behind(writer, ledger):
                connections.set_busy_wait(writer, 0.0)
                writer.execute("BEGIN IMMEDIATE")
                self.seals.changes.clear()
                ledger_mark.note(writer, ledger)
                table_sums.save_changes(writer, self.seals)
                writer.execute("COMMIT")

    # ----------------------------------------------------------------------------------------------
    # forking

    def before_fork(self) -> None:
        """Let no write be under way during a fork."""
        self._writes.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Release the write lock in the parent."""
        self._writes.lock.release()

    def after_fork_in_child(self) -> None:
        """Drop the parent's connections without closing them in the child."""
        if self.path is not None:
            _abandoned.append((self._pool, self._writer))
            self._pool = self._writer = None
        self._guard = RLock()
        self._writes = WriteQueue(self)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_dev, stat.st_ino
