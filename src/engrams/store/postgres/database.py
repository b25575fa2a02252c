"""Transactions on a Postgres database, each as one owner."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import psycopg
import psycopg_pool
from psycopg import errors
from psycopg_pool import ConnectionPool

from engrams.core import Scope
from engrams.errors import ClosedError
from engrams.settings import StoreSettings
from engrams.store.postgres.error_mapping import map_errors, name_database, read_address
from engrams.store.postgres.job_notices import NOTICE
from engrams.store.postgres.owner_connection import (
    SET_UP,
    LoneStatementConnection,
    OwnerConnection,
    Statement,
    choose_role,
)
from engrams.store.postgres.pipelined_connection import PipelinedConnection, SentStatement
from engrams.store.postgres.sql_translation import translate
from engrams.store.postgres.text_escaping import make_adapters
from engrams.store.process_forks import register

T = TypeVar("T")
P = ParamSpec("P")
_Pool: TypeAlias = "ConnectionPool[PipelinedConnection]"

_MAX_ROUNDS = 20
"""Times that a transaction is run where others were in its way."""
_MAX_CUTS = 3
"""Times that a transaction is run again whose connection was cut."""
_AWAY_SECONDS = 2.0
"""Wait for a server that cannot be reached."""
_RETRY_SECONDS = 0.5
"""Time between attempts to reach it."""
_PAUSE_SECONDS = 0.01
"""Longest pause before the second round; each later one may be that much longer."""
KEEP_ALIVE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Seconds after which a server that is gone is noticed; the last in milliseconds."""
_ADAPTERS = make_adapters()
_abandoned: list[object] = []
"""Pools of the parent process: a child that closed their connections would end the parent's."""


class PostgresDatabase:
    """Pooled connections to one database, for any number of threads."""

    generation = 0

    def __init__(self, url: str, settings: StoreSettings) -> None:
        self.url = url
        self._settings = settings
        self.listen_url = settings.listen_url or url
        read_address(self.listen_url)
        self._lock_timeout = str(int(settings.busy_seconds * 1000))
        self.label = name_database(url)
        self._closed = False
        self._lock = threading.Lock()
        self._pool: ConnectionPool[PipelinedConnection] | None = None
        self._problem: psycopg.Error | None = None
        """Error of the last attempt to connect; None: it succeeded."""
        register(self)

    @property
    def exists(self) -> bool:
        """True: it was made by ``engrams migrate``. ClosedError: it was closed."""
        self._check_open()
        return True

    @contextmanager
    def reading(self, owner: Scope | None, /) -> Iterator[OwnerConnection]:
        """Begin a read transaction, on one state of the database."""
        with (
            map_errors(self.label),
            self._transaction(owner, "ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection,
        ):
            yield connection

    @contextmanager
    def asking(self, owner: Scope | None, /) -> Iterator[LoneStatementConnection]:
        """Lend a connection for one statement, sent in one round trip."""
        with map_errors(self.label):
            yield LoneStatementConnection(self._ask, None if owner is None else owner.key)

    def ask_together(self, owner: Scope, /, *statements: Statement) -> list[list[tuple[Any, ...]]]:
        """Read an owner's rows by statements sent together; the rows of each."""
        with map_errors(self.label):
            translated = [
                (translate(statement, is_read_only=True).text, parameters)
                for statement, parameters in statements
            ]
            return [answer.fetchall() for answer in self._ask(owner.key, translated)]

    def write(
        self,
        owner: Scope | None,
        work: Callable[Concatenate[OwnerConnection, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run ``work`` in a durable transaction.

        Again, where others were in its way.
        """
        with map_errors(self.label):
            for round in range(_MAX_ROUNDS):
                connection: OwnerConnection | None = None
                try:
                    with self._transaction(owner) as connection:
                        return work(connection, *arguments, **options)
                except (
                    errors.DeadlockDetected,
                    errors.SerializationFailure,
                    errors.UniqueViolation,
                ) as problem:
                    # Two asked for the same work at once: now it waits, and the second joins it.
                    # Any other row that exists already is the caller's error.
                    is_final = (
                        isinstance(problem, errors.UniqueViolation)
                        and problem.diag.constraint_name != "jobs_waiting"
                    )
                    if is_final or round == _MAX_ROUNDS - 1:
                        raise
                    time.sleep(random.random() * _PAUSE_SECONDS * (round + 1))  # noqa: S311 - no secret: it only parts two that met
                except psycopg.OperationalError:
                    if connection is None or not connection.is_undone or round >= _MAX_CUTS:
                        raise
        raise AssertionError("the last round returns or raises")

    write_unsynced = write

    def checkpoint(self) -> bool:
        """Do nothing: Postgres reuses its log by itself."""
        return True

    def _ask(self, owner_key: str | None, statements: Sequence[Statement]) -> list[SentStatement]:
        """Run translated statements in one transaction and one round trip."""
        pool = self._open_pool()
        for round in range(_MAX_CUTS + 1):
            raw = self._borrow(pool)
            try:
                # What is sent together is one transaction, also without BEGIN.
                raw.send(SET_UP, (*choose_role(owner_key), self._lock_timeout))
                answers = [raw.send(statement, parameters) for statement, parameters in statements]
                raw.sync()
            except BaseException as problem:
                was_cut = raw.closed and isinstance(problem, psycopg.OperationalError)
                raw.close()
                if not was_cut or round == _MAX_CUTS:
                    raise
            else:
                return answers
            finally:
                pool.putconn(raw)
        raise AssertionError("the last round returns or raises")

    @contextmanager
    def _transaction(self, owner: Scope | None, mode: str = "") -> Iterator[OwnerConnection]:
        """Begin a transaction; ``mode``: of one that only reads."""
        owner_key = None if owner is None else owner.key
        pool = self._open_pool()
        raw = self._borrow(pool)
        try:
            raw.send(f"BEGIN {mode}")
            raw.send(SET_UP, (*choose_role(owner_key), self._lock_timeout))
            connection = OwnerConnection(raw, owner_key, is_read_only=bool(mode))
            yield connection
            connection.is_ending = True
            raw.send("COMMIT")
            raw.sync()
        except BaseException as problem:
            _roll_back(raw, problem)
            raise
        finally:
            pool.putconn(raw)

    def notify(self) -> None:
        """Tell workers of new jobs; those not told look by themselves."""
        pool = self._open_pool()
        with suppress(psycopg.Error, psycopg_pool.PoolTimeout):
            raw = self._borrow(pool)
            try:
                for statement in NOTICE:
                    raw.send(statement)
                raw.sync()
            except BaseException:
                raw.close()
                raise
            finally:
                pool.putconn(raw)

    def _open_pool(self) -> ConnectionPool[PipelinedConnection]:
        self._check_open()
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.url,
                    connection_class=PipelinedConnection,
                    configure=self._start,
                    kwargs={
                        "autocommit": True,
                        "context": _ADAPTERS,
                        "on_attempt": self._note_attempt,
                        **KEEP_ALIVE,
                    },
                    min_size=1,
                    max_size=self._settings.connections,
                    timeout=max(self._settings.busy_seconds, 0.1),
                    # Who waits asks for the next attempt; the pool's own come ever later in a long
                    # outage.
                    reconnect_timeout=0.0,
                    open=True,
                )
            return self._pool

    def _note_attempt(self, problem: psycopg.Error | None) -> None:
        self._problem = problem

    def _borrow(self, pool: _Pool) -> PipelinedConnection:
        """Lend a connection that the server has not ended.

        OperationalError: the server cannot be reached. PoolTimeout: all are in use for long.
        """
        started_at = time.monotonic()
        was_cut = False
        while True:
            waited = time.monotonic() - started_at
            timeout = max(pool.timeout - waited, 0.0)
            if was_cut or self._is_away(pool):
                timeout = min(timeout, _RETRY_SECONDS)
            try:
                raw = pool.getconn(timeout)
            except psycopg_pool.PoolTimeout:
                problem = self._problem
                away_seconds = min(pool.timeout, _AWAY_SECONDS) - _RETRY_SECONDS
                if problem is not None and self._is_away(pool) and waited >= away_seconds:
                    raise problem from None
                if waited >= pool.timeout - _RETRY_SECONDS:
                    raise
                continue
            if not _is_cut(raw):
                return raw
            was_cut = True
            raw.close()
            pool.putconn(raw)

    def _is_away(self, pool: _Pool) -> bool:
        """Test whether connecting failed last, and no connection is left."""
        return self._problem is not None and pool.get_stats()["pool_size"] <= 1

    def _start(self, raw: PipelinedConnection) -> None:
        raw.prepares = self._settings.prepare
        raw.start()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("The store is closed.")

    def close(self) -> None:
        """Close all connections; may be called twice."""
        with self._lock:
            self._closed = True
            pool = self._pool
            self._pool = None
        if pool is not None:
            pool.close()

    # ----------------------------------------------------------------------------------------------
    # forking

    def before_fork(self) -> None:
        """Let no pool be made during a fork."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Allow pools again in the parent."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Drop the parent's connections without closing them in the child."""
        _abandoned.append(self._pool)
        self._pool = None
        self._lock = threading.Lock()


def _is_cut(raw: PipelinedConnection) -> bool:
    """Test whether the server ended a connection while it lay idle."""
    try:
        # Its farewell first, then the end itself.
        raw.pgconn.consume_input()
        raw.pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return raw.closed


def _roll_back(raw: PipelinedConnection, problem: BaseException) -> None:
    """End a failed transaction, by closing where a statement failed.

    Nobody knows then which statements are prepared. A connection's status tells nothing here: in a
    pipeline it is that of the last Sync.
    """
    if isinstance(problem, psycopg.Error) or not isinstance(problem, Exception):
        raw.close()
        return
    try:
        raw.send("ROLLBACK")
        raw.sync()
    except psycopg.Error:
        raw.close()
