"""Connection that sends statements together, and waits for answers late.

It drives libpq through ``psycopg.pq``: psycopg's cursors take three times as long for a statement
as the server needs to run it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from psycopg import errors, generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, Format

from engrams.store.postgres.text_escaping import escape_values, make_row_reader

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGresult

Row: TypeAlias = tuple[Any, ...]
_Key: TypeAlias = tuple[str, tuple[int, ...]]
"""Text of a statement, and the types of its parameters."""

_UNNAMED_USES = 5
"""Uses of a statement after which the server shall know it by a name."""
_MAX_NAMED = 200
"""Statements that have a name on a connection."""
_MAX_COUNTED = 2000
"""Statements whose uses are counted."""


class SentStatement:
    """Statement that was sent, with its answer once that came."""

    __slots__ = ("_connection", "_rows", "changed")

    def __init__(self, connection: PipelinedConnection) -> None:
        self._connection = connection
        self._rows: list[Row] | None = None
        self.changed = 0
        """Rows that it touched."""

    def answer(self, rows: list[Row], changed: int) -> None:
        """Take the answer."""
        self._rows = rows
        self.changed = changed

    def fetchall(self) -> list[Row]:
        """Return all rows; waits for all that was sent so far."""
        if self._rows is None:
            self._connection.sync()
        assert self._rows is not None
        return self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchall())


class PipelinedConnection(psycopg.Connection[Row]):
    """Connection that waits for answers only where somebody asks for them.

    Each transaction ends with a Sync and nothing behind it, so that a pooler can hand the server to
    somebody else. After an error it is of no use: nobody knows then which statements have a name.
    """

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> PipelinedConnection:
        """Connect as psycopg does.

        ``on_attempt``: an option more; it is called with the error that keeps from it, or None.
        """
        on_attempt: Callable[[psycopg.Error | None], object] = options.pop("on_attempt")
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.Error as problem:
            on_attempt(problem)
            raise
        on_attempt(None)
        return connection

    prepares = True
    """False: no statement gets a name."""

    def start(self) -> None:
        """Send what follows without waiting.

        The mode is never left: a copy in a forked process, which is dropped, must say nothing.
        """
        self.pgconn.enter_pipeline_mode()
        self._values = Transformer(self)
        self._sent: deque[SentStatement | None] = deque()
        """What was sent and not answered yet; None: the naming of a statement."""
        self._uses: Counter[_Key] = Counter()
        self._names: dict[_Key, bytes] = {}

    def send(
        self, text: str, parameters: Sequence[Any] = (), *, may_prepare: bool = True
    ) -> SentStatement:
        """Put a statement into the driver's buffer, which sends large ones itself.

        ``may_prepare``: the server may know it by a name from its sixth use on.
        """
        encoded = None
        types: tuple[int, ...] = ()
        formats = None
        if parameters:
            escaped = escape_values(parameters)
            encoded = self._values.dump_sequence(escaped, [PyFormat.AUTO] * len(escaped))
            types = self._values.types or ()
            formats = self._values.formats
        name = self._find_name((text, types)) if may_prepare else b""
        if name:
            self.pgconn.send_query_prepared(name, encoded, formats, Format.BINARY)
        else:
            self.pgconn.send_query_params(text.encode(), encoded, types, formats, Format.BINARY)
        statement = SentStatement(self)
        self._sent.append(statement)
        return statement

    def sync(self) -> None:
        """Wait for all answers; the first error is raised."""
        self.pgconn.pipeline_sync()
        self.wait(self._collect())

    def _find_name(self, key: _Key) -> bytes:
        """Name of a statement on this connection; empty while it has none."""
        existing = self._names.get(key)
        if existing:
            return existing
        if len(self._uses) >= _MAX_COUNTED:
            self._uses.clear()
        self._uses[key] += 1
        is_rare = self._uses[key] <= _UNNAMED_USES
        if not self.prepares or is_rare or len(self._names) >= _MAX_NAMED:
            return b""
        text, types = key
        name = self._names[key] = b"engrams_%d" % len(self._names)
        self.pgconn.send_prepare(name, text.encode(), types)
        self._sent.append(None)
        return name

    def _collect(self) -> PQGen[None]:
        """Take the answers of all sent statements; a psycopg generator, which ``wait`` drives."""
        yield from generators.send(self.pgconn)
        problem: psycopg.Error | None = None
        while self._sent:
            statement = self._sent.popleft()
            results = yield from generators.fetch_many(self.pgconn)
            if not results:
                raise problem or psycopg.OperationalError("the server ended the connection")
            result = results[0]
            if result.status in (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED):
                problem = problem or errors.error_from_result(result, encoding=self.info.encoding)
            elif statement is not None:
                statement.answer(self._load_rows(result), result.command_tuples or 0)
        yield from generators.fetch_many(self.pgconn)  # the answer to the Sync
        if problem is not None:
            raise problem

    def _load_rows(self, result: PGresult) -> list[Row]:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, make_row_reader(result))
