"""Audit events in a table of Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from typing import Any

from engrams.core import Scope
from engrams.core.clock import micros
from engrams.ports import AuditEventBatch, AuditEventQuery, AuditLogEntry
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.named_queries import SqlConnection, load_queries
from engrams.store.sql.row_conversion import to_datetime

_DAY_MICROSECONDS = 86_400_000_000
_LATEST = (1 << 63) - 1
_PAGE_ROWS = 5_000
"""Rows read or erased by one statement, or a few more of the same moment."""


class PostgresAuditEvents:
    """Events of a fleet, a row each.

    An owner's are listed with the right of that owner, everything else with that of the fleet.
    """

    is_remote = True

    def __init__(self, database: PostgresDatabase, close: Callable[[], None]) -> None:
        self._database = database
        self.close = close
        self._queries = load_queries(__package__)

    def append_events(self, batch: AuditEventBatch) -> None:
        rows = [_to_row(entry, id) for id, entry in enumerate(batch.entries, batch.number)]

        def append(connection: SqlConnection) -> None:
            for row in rows:
                connection.execute(self._queries["append_event"], row)

        self._database.write(None, append)

    def list_events(self, query: AuditEventQuery) -> tuple[AuditLogEntry, ...]:
        since = 0 if query.day is None else _start(query.day)
        until = _LATEST if query.day is None else since + _DAY_MICROSECONDS
        owner = Scope.parse(query.owner) if query.owner else None
        name, values = _choose_listing(query, since, until)
        with self._database.asking(owner) as connection:
            return tuple(map(_to_entry, connection.execute(self._queries[name], values).fetchall()))

    def list_days(self) -> tuple[date, ...]:
        with self._database.asking(None) as connection:
            return tuple(
                to_datetime(at).date()
                for (at,) in connection.execute(self._queries["list_event_days"]).fetchall()
            )

    def iter_day(self, day: date) -> Iterator[AuditLogEntry]:
        until = _start(day) + _DAY_MICROSECONDS
        cursor: tuple[Any, ...] = (_start(day) - 1, _LATEST, "")
        is_full = True
        while is_full:
            with self._database.asking(None) as connection:
                parameters = (*cursor, until, _PAGE_ROWS)
                rows = connection.execute(self._queries["read_events"], parameters).fetchall()
            yield from map(_to_entry, rows)
            is_full = len(rows) == _PAGE_ROWS
            if is_full:
                # Time, id and owner of the last row.
                cursor = rows[-1][0], rows[-1][8], rows[-1][3]

    def drop_events(self, before: date) -> int:
        dropped = 0
        number = _PAGE_ROWS
        while number >= _PAGE_ROWS:
            number = self._database.write(None, self._drop_page, _start(before))
            dropped += number
        return dropped

    def _drop_page(self, connection: SqlConnection, before: int) -> int:
        connection.execute(self._queries["drop_events"], (before, _PAGE_ROWS))
        return connection.changes()


def _choose_listing(query: AuditEventQuery, since: int, until: int) -> tuple[str, tuple[Any, ...]]:
    """Name and values of the statement that reads the fewest rows."""
    if query.owner:
        return "list_owner_events", (query.owner, since, until, query.action, query.limit)
    if query.action:
        return "list_action_events", (query.action, since, until, query.limit)
    return "list_events", (since, until, query.limit)


def _start(day: date) -> int:
    return micros(datetime.combine(day, time(tzinfo=UTC)))


def _to_row(entry: AuditLogEntry, id: int) -> tuple[Any, ...]:
    texts = (entry.action, entry.actor, entry.target, entry.outcome)
    at = micros(datetime.fromisoformat(entry.at))
    return (entry.owner, at, id, *map(_to_stored, texts), entry.number, _to_stored(entry.request))


def _to_stored(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by question marks."""
    return text.encode("utf-8", "replace").decode()


def _to_entry(row: tuple[Any, ...]) -> AuditLogEntry:
    at, *fields = row[:8]
    return AuditLogEntry(to_datetime(at).isoformat(), *fields)
