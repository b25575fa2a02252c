"""Log of records about sessions, which no prompt reads: the base of the crisis and feedback logs.

A record is stored once by its id, listed by day and dropped by age. The session's name is only
stored as a hash.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from engrams.core.clock import micros, utc
from engrams.core.log_enums import LogWriteOutcome
from engrams.errors import EncryptionError, InputError, StoreError
from engrams.logs.session_log_database import SessionLogDatabase
from engrams.ports import Clock, SessionLogRow, SessionLogSearch, SessionLogTable

_DAY_MICROS = 86_400_000_000

_Record = TypeVar("_Record", bound="SessionLogRecord")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionLogRecord:
    """Fields that the records of all session logs share."""

    id: str
    """Hash of the id that was given, or of the record itself."""
    at: datetime
    session: str
    """Hash of the session's name."""
    owner: str | None
    """Key of a scope. None: nobody was named, or the session is incognito."""


@dataclass(frozen=True, slots=True)
class NewSessionLogRecord:
    """Record to be stored."""

    session: str
    """Name of the session; only its hash is stored."""
    data: Mapping[str, str]
    """Fields of the record that are the log's own."""
    owner: str = ""
    """Key of a scope, or empty."""
    id: str = ""
    """An id that is there already for this owner stores nothing.

    Without one, the same data of the same time stores nothing.
    """
    at: datetime | None = None
    """None: now."""
    incognito: bool = False
    """Store it in this process only, and without an owner."""


class SessionLogStore(Generic[_Record]):
    """Storage of one session log: write once, list, purge, expire.

    A record that cannot be written never fails its caller; ``lost`` counts those. Thread safe;
    several processes may write.
    """

    def __init__(
        self,
        name: str,
        table: SessionLogTable | None,
        clock: Clock,
        days: int,
        record: Callable[..., _Record],
        **words: type[StrEnum],
    ) -> None:
        """Open a log.

        ``table`` None: all records stay in memory, as those of incognito sessions always do.
        ``days``: age at which records are erased. ``words``: field of ``record`` -> its values.
        """
        self._name = name
        self._clock = clock
        self._days = days
        self._record = record
        self._words = words
        self._memory: SessionLogTable = SessionLogDatabase(None)
        self._durable = self._memory if table is None else table
        self._tables = tuple(dict.fromkeys((self._durable, self._memory)))
        self._swept_on: date | None = None
        self.lost = 0

    def put(self, record: NewSessionLogRecord) -> LogWriteOutcome:
        """Store a record once.

        InputError: no session, a word outside its list, or a time out of range.
        """
        self.check_words(record.data)
        if not record.session.strip():
            raise InputError("The record has no session.", hint="Name the session.")
        now = self._clock()
        at = utc(record.at or now)
        try:
            is_new = self._insert(record, at)
            self._sweep_daily(now)
        except (StoreError, EncryptionError) as problem:
            self.lost += 1
            _log.error("the %s log cannot be written: %s", self._name, problem)
            return LogWriteOutcome.LOST
        return LogWriteOutcome.STORED if is_new else LogWriteOutcome.KNOWN

    def check_words(self, data: Mapping[str, str]) -> None:
        """Raise InputError for a value that its enum does not have."""
        for name, value in data.items():
            words = self._words.get(name)
            if words is not None and value not in list(words):
                raise InputError(
                    f"There is no {words.__name__.lower()} {value!r}.",
                    hint=f"Known: {', '.join(words)}.",
                )

    def list(
        self,
        *,
        owner: str = "",
        session: str = "",
        day: date | None = None,
        since: date | None = None,
        until: date | None = None,
        limit: int = 100,
    ) -> tuple[_Record, ...]:
        """List records, newest first, none older than ``days``.

        ``owner``: a scope's key, with the scopes below it. ``session``: its name. ``day``: only
        this one (UTC); ``since``, ``until``: the first and the last. StoreError: the records cannot
        be read.
        """
        first_day = max(self._find_oldest_day(), day or since or date.min)
        limit = max(0, limit)
        records: list[_Record] = []
        for table in self._tables:
            if table.exists:
                query = SessionLogSearch(
                    since=_start_micros(first_day),
                    until=_start_micros(day or until or date.max) + _DAY_MICROS,
                    session=_hash(table, b"session", session) if session else "",
                    owner=drop_surrogates(owner),
                    limit=limit,
                )
                records += map(self._to_record, table.find(query))
        records.sort(key=lambda record: record.at, reverse=True)
        return tuple(records[:limit])

    def purge(self, before: date) -> int:
        """Erase records before a day (UTC); return their number.

        StoreError: they cannot be erased.
        """
        start = _start_micros(before)
        return sum(table.purge(start) for table in self._tables if table.exists)

    def sweep(self) -> int:
        """Erase records older than ``days``; return their number."""
        return self.purge(self._find_oldest_day())

    def close(self) -> None:
        """Close the tables."""
        for table in self._tables:
            table.close()

    def _insert(self, record: NewSessionLogRecord, at: datetime) -> bool:
        """Add a row; False: it is there already."""
        table = self._memory if record.incognito else self._durable
        owner = None if table is self._memory else drop_surrogates(record.owner) or None
        session = _hash(table, b"session", record.session)
        data = {field: drop_surrogates(value) for field, value in record.data.items()}
        text = json.dumps(data, sort_keys=True)
        if record.id:
            row_id = _hash(table, b"given", record.id, owner or "")
        else:
            row_id = _hash(table, b"derived", session, at.isoformat(), text, owner or "")
        return table.add(
            SessionLogRow(id=row_id, at=micros(at), owner=owner, session=session, data=text)
        )

    def _sweep_daily(self, now: datetime) -> None:
        if self._swept_on == now.date():
            return
        self._swept_on = now.date()
        try:
            self.sweep()
        except StoreError as problem:
            _log.error("the %s log could not erase old records: %s", self._name, problem)

    def _find_oldest_day(self) -> date:
        return utc(self._clock()).date() - timedelta(days=self._days)

    def _to_record(self, row: SessionLogRow) -> _Record:
        values = {
            name: self._words.get(name, str)(value) for name, value in json.loads(row.data).items()
        }
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.at)
        return self._record(row.id, at, row.session, row.owner, **values)


def _hash(table: SessionLogTable, purpose: bytes, *texts: str) -> str:
    """Hash texts with the key of a log into 32 hex digits.

    ``purpose``: so that a session and an id of the same text have different hashes.
    """
    text = json.dumps(texts).encode()
    return hashlib.blake2b(text, digest_size=16, key=table.load_key(), person=purpose).hexdigest()


def drop_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _start_micros(day: date) -> int:
    return micros(datetime.combine(day, time(tzinfo=UTC)))
