"""Put our session in the place of the one that keeps a SQLite file, as its tests construct it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import agents
import agents.memory
import agents.memory.sqlite_session
from agents.memory import SessionSettings

import engrams
from engrams import Turn
from engrams.surfaces.adapters import OpenAIAgentsSession
from engrams.surfaces.adapters.itemjournal import ITEM, FrameworkItemJournal


class DamagedRows:
    """What a test writes damaged rows through: an item whose data is lost."""

    def __init__(self, session: SQLiteSession) -> None:
        self.session = session

    def execute(self, _sql: str, given: tuple[str, str]) -> None:
        meta = {ITEM: {"adapter": "openai-agents", "session": given[0]}}
        self.session.engine.observe(Turn(given[1], session=given[0], meta=meta), scope=("user", "ann"))

    def commit(self) -> None:
        """Do nothing: it is durable."""


class DurableConnection:
    """What a test puts its own connection in the place of, to hold a commit up."""

    def commit(self) -> None:
        """Do nothing: it is durable."""


class CommittingJournal:
    """Journal whose changes end with a commit of the session's connection, as those of the replaced class do."""

    def __init__(self, session: SQLiteSession, journal: FrameworkItemJournal) -> None:
        self.session, self.read = session, journal.read
        self.append, self.pop, self.clear = map(self.finish, (journal.append, journal.pop, journal.clear))

    def finish(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any) -> Any:
            result = change(*given)
            self.session._get_connection().commit()
            return result

        return changed


class SQLiteSession(OpenAIAgentsSession):
    """Session on an engine of its file, shared by the sessions of that file."""

    engines: ClassVar[dict[str, tuple[engrams.MemoryEngine, set[int]]]] = {}
    lock: ClassVar[threading.Lock] = threading.Lock()
    messages_table = "items"

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", *_tables: str, session_settings: Any = None) -> None:
        self.place = f"{db_path}-{id(self)}" if str(db_path) == ":memory:" else str(db_path)
        with self.lock:
            if self.place not in self.engines:
                self.engines[self.place] = (engrams.open(store__url=str(db_path), jobs__workers=0), set())
            engine, users = self.engines[self.place]
            users.add(id(self))
        settings = SessionSettings() if session_settings is None else session_settings
        super().__init__(session_id, engine, ("user", "ann"), session_settings=settings)
        self.engine, self.closed = engine, False
        self._journal: Any = CommittingJournal(self, self._journal)
        self._connections: set[Any] = set()
        self._connections_lock = threading.Lock()

    async def add_items(self, items: Any) -> None:
        self.check_open()
        await super().add_items(items)

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
        self.closed = True
        with self.lock:
            engine, users = self.engines.get(self.place, (None, set()))
            users.discard(id(self))
            if engine is not None and not users:
                del self.engines[self.place]
                engine.close()


agents.SQLiteSession = SQLiteSession  # type: ignore[misc]
agents.memory.SQLiteSession = SQLiteSession  # type: ignore[misc]
