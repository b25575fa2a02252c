"""Put our session in the place of the one that keeps a SQLite file, as its tests construct, watch
and break it.

What a test does to that class's file, lock or connection is done to ours: an SQL text of the test
becomes the same question to our tables, a connection that it puts in stands in for the one that our
engine writes with, and fails where that one would.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import agents
import agents.memory
import agents.memory.sqlite_session
import apsw
import pytest
from agents.memory import SessionSettings

import engrams
from engrams import Turn
from engrams.adapters import OpenAIAgentsSession
from engrams.adapters.item_journal import ITEM, FrameworkItemJournal
from engrams.errors import StoreError
from engrams.store.sqlite.connections import WriteLock
from engrams.store.sqlite.database import SqliteDatabase

_OURS = {
    "INSERT INTO agent_sessions (session_id) VALUES ('probe')": (
        "CREATE TABLE IF NOT EXISTS probe_lock (x INTEGER)"
    ),
    "FROM agent_sessions WHERE session_id": "FROM records WHERE session",
    "DROP TABLE agent_sessions": "DROP TABLE jobs",
    "DROP TABLE agent_messages": "DROP TABLE history",
}
"""SQL of the tests as that of our file.

A purge writes records, then history, then its job: each drop breaks it half way.
"""


class Probe:
    """Another connection to a session's file, which waits for no lock."""

    def __init__(self, place: str) -> None:
        self.connection = apsw.Connection(place)

    def execute(self, sql: str) -> Any:
        for theirs, ours in _OURS.items():
            sql = sql.replace(theirs, ours)
        try:
            return self.connection.execute(sql)
        except apsw.BusyError as problem:
            raise sqlite3.OperationalError(str(problem)) from problem

    def commit(self) -> None:
        """Do nothing: each statement commits."""

    def close(self) -> None:
        self.connection.close()


def connect(place: str, *, factory: Any = None, **_waits: Any) -> Any:
    """Probe a session's file; with a factory, make a stand-in for the engine's connection."""
    return Probe(place) if factory is None else factory(":memory:", check_same_thread=False)


class DamagedRows:
    """What a test writes damaged rows through: an item whose data is lost."""

    def __init__(self, session: SQLiteSession) -> None:
        self.session = session

    def execute(self, _sql: str, given: tuple[str, str]) -> None:
        meta = {ITEM: {"adapter": "openai-agents", "session": given[0]}}
        self.session.engine.observe(
            Turn(given[1], session=given[0], meta=meta), scope=("user", "ann")
        )

    def commit(self) -> None:
        """Do nothing: it is durable."""


class DurableConnection:
    """What a test puts its own connection in the place of, to hold a commit up or to fail in a
    rollback.
    """

    def commit(self) -> None:
        """Do nothing: it is durable."""

    def rollback(self) -> None:
        """Do nothing: the engine does."""


@dataclass(frozen=True)
class WatchedConnection:
    """Connection that our engine writes with, as a test of sqlite3's looks at it."""

    connection: apsw.Connection

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    def execute(self, sql: str) -> Any:
        try:
            return self.connection.execute(sql)
        except apsw.ConnectionClosedError as problem:
            raise sqlite3.ProgrammingError(str(problem)) from problem


class WatchedConnections:
    """The one that our engine writes with now; those that tests add stand in for it."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.meant = dict[Any, apsw.Connection | None]()

    def add(self, stand_in: Any) -> None:
        self.meant[stand_in] = self.database._writer

    def __iter__(self) -> Iterator[WatchedConnection]:
        if self.database._writer is not None:
            yield WatchedConnection(self.database._writer)

    def __contains__(self, one: Any) -> bool:
        meant = self.meant.get(one, getattr(one, "connection", None))
        return meant is not None and meant is self.database._writer

    def __eq__(self, other: object) -> bool:
        return set(self) == other

    __hash__ = None  # type: ignore[assignment]


@contextmanager
def breaking(
    database: SqliteDatabase, problem: Exception, roll_back: Callable[[], None]
) -> Iterator[None]:
    """Raise a problem amid the next write's transaction;
    it is rolled back if ``roll_back`` does not fail either.
    """

    def fail(*_change: Any) -> None:
        raise problem

    def decide(action: int, name: str | None, *_more: Any) -> int:
        try:
            if (action, name) == (apsw.SQLITE_TRANSACTION, "ROLLBACK"):
                roll_back()
        except RuntimeError:
            return apsw.SQLITE_DENY
        return apsw.SQLITE_OK

    writer = database._writer
    assert writer is not None
    writer.set_update_hook(fail)
    writer.set_authorizer(decide)
    try:
        yield
    finally:
        with suppress(apsw.ConnectionClosedError):
            writer.set_update_hook(None)
            writer.set_authorizer(None)


class CommittingJournal:
    """Journal whose changes end with a commit of the session's connection, as those of the replaced
    class do.
    """

    def __init__(self, session: SQLiteSession, journal: FrameworkItemJournal) -> None:
        self.session = session
        self.read = journal.read
        self.append, self.pop, self.clear = map(
            self.finish, (journal.append, journal.pop, journal.clear)
        )

    def finish(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any) -> Any:
            try:
                result = change(*given)
            except StoreError as problem:
                raise sqlite3.OperationalError(str(problem)) from problem
            self.session._get_connection().commit()
            return result

        return changed


class SQLiteSession(OpenAIAgentsSession):
    """Session on an engine of its file, shared by the sessions of that file."""

    engines: ClassVar[dict[Path, engrams.MemoryEngine]] = {}
    _file_locks: ClassVar[dict[Path, WriteLock]] = {}
    _file_lock_counts: ClassVar[dict[Path, int]] = {}
    guard: ClassVar[threading.Lock] = threading.Lock()
    numbers: ClassVar[Iterator[int]] = count()
    messages_table = "items"

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        *_tables: str,
        session_settings: Any = None,
    ) -> None:
        memory = str(db_path) == ":memory:"
        self.place = Path(f"memory {next(self.numbers)}") if memory else Path(db_path).resolve()
        with self.guard:
            if self.place not in self.engines:
                engine = engrams.open(store__url=str(db_path), jobs__workers=0)
                database: SqliteDatabase = engine._store._database  # type: ignore[attr-defined]
                database.run_exclusive(lambda _: None)  # makes the file, as that class does
                self.engines[self.place] = engine
                self._file_locks[self.place] = database._writes.lock
            self._file_lock_counts[self.place] = self._file_lock_counts.get(self.place, 0) + 1
        settings = SessionSettings() if session_settings is None else session_settings
        self.engine = self.engines[self.place]
        self.closed = False
        super().__init__(session_id, self.engine, ("user", "ann"), session_settings=settings)
        self.database: SqliteDatabase = self.engine._store._database  # type: ignore[attr-defined]
        self._journal: Any = CommittingJournal(self, self._journal)
        self._lock = self._file_locks[self.place]
        self._connections_lock = threading.Lock()
        self._connections = WatchedConnections(self.database)

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Add items;
        what is no JSON is refused before a write begins, and then fails amid one as well, where
        theirs does.
        """
        self.check_open()
        try:
            await super().add_items(items)
        except TypeError as problem:
            with breaking(self.database, problem, lambda: self._get_connection().rollback()):
                await super().add_items([{"role": "user", "content": "half"}])

    async def get_items(self, limit: int | None = None) -> list[Any]:
        self.check_open()
        return await super().get_items(limit)

    def _get_connection(self) -> Any:
        return DurableConnection()

    @contextmanager
    def _locked_connection(self) -> Iterator[DamagedRows]:
        yield DamagedRows(self)

    def check_open(self) -> None:
        if self.closed:
            raise RuntimeError("SQLiteSession is closed")

    def close(self) -> None:
        with self.guard:
            if self.closed:
                return
            self.closed = True
            self._file_lock_counts[self.place] -= 1
            if not self._file_lock_counts[self.place]:
                del self._file_lock_counts[self.place], self._file_locks[self.place]
                self.engines.pop(self.place).close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests connections to our file where they open one to theirs."""
    for item in items:
        module = getattr(item, "module", None)
        if getattr(module, "sqlite3", None) is sqlite3:
            module.sqlite3 = SimpleNamespace(**{**vars(sqlite3), "connect": connect})  # type: ignore[union-attr]


agents.SQLiteSession = SQLiteSession  # type: ignore[misc]
agents.memory.SQLiteSession = SQLiteSession  # type: ignore[misc]
