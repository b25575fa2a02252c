"""Connections that see one owner's rows: within a transaction, and for one statement.

What belongs to no single owner runs as the role of the fleet, everything else as the role of the
service with an owner, to which row-level security limits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from engrams.store.postgres.pipelined_connection import PipelinedConnection, SentStatement
from engrams.store.postgres.sql_translation import translate

Statement: TypeAlias = tuple[str, Any]
"""SQL text, and its parameters."""

SCHEMA = "engrams"
SERVICE = "engrams_service"
"""Role of transactions with one owner's rows."""
FLEET = "engrams_fleet"
"""Role of transactions for what belongs to no single owner."""
_SET_ROLE = "SELECT set_config('role', $1, true), set_config('engrams.owner', $2, true)"
SET_UP = (
    f"SELECT set_config('search_path', '{SCHEMA}', true), set_config('lock_timeout', $3, true),"
    f" {_SET_ROLE.removeprefix('SELECT ')}"
)
"""First statement of a transaction; its parameters: role, owner's key, milliseconds for locks."""
_BATCH_ROWS = 5_000
"""Rows that a streamed statement fetches at a time."""


class OwnerConnection:
    """Postgres connection within a transaction, limited to one owner's rows.

    Statements are sent without waiting; whoever asks for a result waits, for all that was sent so
    far, in one round trip.
    """

    def __init__(
        self, raw: PipelinedConnection, owner_key: str | None, *, is_read_only: bool
    ) -> None:
        self._is_read_only = is_read_only
        self._raw = raw
        self._owner_key = owner_key
        """Owner of the next statements; None: no single one."""
        self._current_owner_key = owner_key
        """Owner that the server was told."""
        self._stream_count = 0
        self._last_statement: SentStatement | None = None
        self.is_ending = False
        """True once COMMIT was sent: from then on nobody knows what a connection that is cut has
        done.
        """

    def enter(self, owner_key: str) -> None:
        """Name the owner of the next statements."""
        self._owner_key = owner_key

    def execute(self, statement: str, parameters: Any = (), /) -> Any:
        """Send a shared statement."""
        translated = translate(statement, self._is_read_only)
        self._set_owner(None if translated.crosses_owners else self._owner_key)
        if translated.is_streamed:
            return self._stream(translated.text, parameters)
        self._last_statement = self._raw.send(translated.text, parameters)
        return self._last_statement

    def changes(self) -> int:
        """Rows that the last statement changed."""
        self._raw.sync()
        return 0 if self._last_statement is None else self._last_statement.changed

    def _stream(self, statement: str, parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Fetch rows in batches, by a cursor of the server."""
        self._stream_count += 1
        name = f"rows{self._stream_count}"
        declaration = f"DECLARE {name} NO SCROLL CURSOR FOR {statement}"
        self._raw.send(declaration, parameters, may_prepare=False)
        is_full = True
        while is_full:
            rows = self._raw.send(f"FETCH {_BATCH_ROWS} FROM {name}", may_prepare=False).fetchall()
            yield from rows
            is_full = len(rows) == _BATCH_ROWS

    @property
    def is_undone(self) -> bool:
        """True where the connection was cut before COMMIT was sent."""
        return self._raw.closed and not self.is_ending

    def _set_owner(self, owner_key: str | None) -> None:
        """Tell the server the owner of the next statements, if it is another one."""
        if owner_key != self._current_owner_key:
            self._raw.send(_SET_ROLE, choose_role(owner_key))
            self._current_owner_key = owner_key


class LoneStatementConnection:
    """Connection whose statements are read-only transactions of their own."""

    def __init__(
        self,
        ask: Callable[[str | None, Sequence[Statement]], list[SentStatement]],
        owner_key: str | None,
    ) -> None:
        self._ask = ask
        self._owner_key = owner_key

    def execute(self, statement: str, parameters: Any = (), /) -> SentStatement:
        """Run a shared statement."""
        translated = translate(statement, is_read_only=True)
        owner_key = None if translated.crosses_owners else self._owner_key
        return self._ask(owner_key, [(translated.text, parameters)])[0]

    def changes(self) -> int:
        """Rows that the last statement changed: none."""
        return 0


def choose_role(owner_key: str | None) -> tuple[str, str]:
    """Return the role of a transaction, and the owner that it names."""
    return FLEET if owner_key is None else SERVICE, owner_key or ""
