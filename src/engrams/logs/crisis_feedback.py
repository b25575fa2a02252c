"""Keep records of crises and feedback, which no prompt reads.

Each is kept once by its id, listed by day and dropped by age.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from engrams.core.clock import micros, utc
from engrams.core.log_enums import (
    CrisisDetectionSource,
    CrisisSeverity,
    FeedbackLabel,
    FeedbackSource,
    LogWriteOutcome,
    SessionMedium,
)
from engrams.errors import EncryptionError, InputError, StoreError
from engrams.frozen_data import dataclass
from engrams.logs.log_database import LogDatabase
from engrams.ports import Clock, SessionLogRow, SessionLogSearch, SessionLogTable

_DAY = 86_400_000_000

_Record = TypeVar("_Record", bound="SessionLogRecord")
_log = logging.getLogger(__name__)


_REASON = 500


@dataclass(frozen=True, slots=True)
class SessionLogRecord:
    """Fields that crisis and feedback records share.

    ``id`` and ``session`` are hashes. ``owner``: a scope's key; None where nobody was named, and in
    incognito.
    """

    id: str
    at: datetime
    session: str
    owner: str | None


class SessionLogStore(Generic[_Record]):
    """Storage of one session log: write once, list, purge, expire.

    Without a table, and in incognito, records stay in memory. A record that cannot be written never
    fails its caller; ``lost`` counts those. ``words``: the closed list of a field of ``record``.
    Thread safe; several processes may write.
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
        self._name = name
        self._clock = clock
        self._days = days
        self._record = record
        self._words = words
        self._memory: SessionLogTable = LogDatabase(None)
        self._kept = self._memory if table is None else table
        self._databases = tuple(dict.fromkeys((self._kept, self._memory)))
        self._swept: date | None = None
        self.lost = 0

    def put(
        self,
        session: str,
        data: Mapping[str, str],
        *,
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> LogWriteOutcome:
        """Store a record once.

        ``session``: its name, of which only a hash is kept. ``owner``: a scope's key, or empty.
        ``id``: the same id is kept once for an owner; without one, the same data at the same time
        is. ``at``: None is now. ``incognito``: in this process only, and without an owner.
        InputError: no session, a word outside its list, or a time out of range.
        """
        self.check_words(data)
        if not session.strip():
            raise InputError("A record is about a session.", hint="Name the session.")
        now = self._clock()
        at = utc(at or now)
        try:
            new = self._insert(
                self._memory if incognito else self._kept, session, data, owner, id, at
            )
            self._sweep_daily(now)
        except (StoreError, EncryptionError) as problem:
            self.lost += 1
            _log.error("the %s log cannot be written: %s", self._name, problem)
            return LogWriteOutcome.LOST
        return LogWriteOutcome.STORED if new else LogWriteOutcome.KNOWN

    def check_words(self, data: Mapping[str, str]) -> None:
        """Raise InputError for a value that its enum does not hold."""
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
        first = max(self._oldest_day(), day or since or date.min)
        last = _start_micros(day or until or date.max) + _DAY
        most = max(0, limit)
        found: list[_Record] = []
        for database in self._databases:
            if database.exists:
                hashed = _hash(database, b"session", session) if session else ""
                query = SessionLogSearch(
                    since=_start_micros(first),
                    until=last,
                    session=hashed,
                    owner=replace_surrogates(owner),
                    limit=most,
                )
                found += map(self._to_record, database.find(query))
        return tuple(sorted(found, key=lambda record: record.at, reverse=True)[:most])

    def purge(self, before: date) -> int:
        """Erase records before a day (UTC); return their number. StoreError: failed."""
        return sum(
            database.purge(_start_micros(before)) for database in self._databases if database.exists
        )

    def sweep(self) -> int:
        """Erase records older than ``days``; return their number."""
        return self.purge(self._oldest_day())

    def close(self) -> None:
        for database in self._databases:
            database.close()

    def _insert(
        self,
        database: SessionLogTable,
        session: str,
        data: Mapping[str, str],
        owner: str,
        id: str,
        at: datetime,
    ) -> bool:
        name = replace_surrogates(owner) or None if database is not self._memory else None
        hashed = _hash(database, b"session", session)
        text = json.dumps(
            {field: replace_surrogates(value) for field, value in data.items()}, sort_keys=True
        )
        parts = (b"given", id) if id else (b"derived", hashed, at.isoformat(), text)
        return database.add(
            SessionLogRow(
                id=_hash(database, *parts, name or ""),
                at=micros(at),
                owner=name,
                session=hashed,
                data=text,
            )
        )

    def _sweep_daily(self, now: datetime) -> None:
        if self._swept == now.date():
            return
        self._swept = now.date()
        try:
            self.sweep()
        except StoreError as problem:
            _log.error("the %s log keeps what is too old: %s", self._name, problem)

    def _oldest_day(self) -> date:
        return utc(self._clock()).date() - timedelta(days=self._days)

    def _to_record(self, row: SessionLogRow) -> _Record:
        values = {
            name: self._words.get(name, str)(value) for name, value in json.loads(row.data).items()
        }
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.at)
        return self._record(row.id, at, row.session, row.owner, **values)


def _hash(table: SessionLogTable, what: bytes, *parts: str) -> str:
    """Hash texts with the key of a log into 32 hex digits."""
    text = json.dumps(parts).encode()
    return hashlib.blake2b(text, digest_size=16, key=table.load_key(), person=what).hexdigest()


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _start_micros(day: date) -> int:
    return micros(datetime.combine(day, time(tzinfo=UTC)))


@dataclass(frozen=True, slots=True)
class CrisisLogRecord(SessionLogRecord):
    """Record of a crisis; ``reason``: the classifier's words, cut at 500 characters."""

    classifier: CrisisDetectionSource
    severity: CrisisSeverity
    reason: str


class CrisisLog(SessionLogStore[CrisisLogRecord]):
    """Keeps crises for ``days`` days, whatever memory keeps or forgets."""

    def __init__(self, table: SessionLogTable | None, clock: Clock, days: int) -> None:
        super().__init__(
            "safety",
            table,
            clock,
            days,
            CrisisLogRecord,
            classifier=CrisisDetectionSource,
            severity=CrisisSeverity,
        )

    def append_once(
        self,
        session: str,
        *,
        classifier: str,
        severity: str,
        reason: str = "",
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> LogWriteOutcome:
        """Record a noticed crisis; parameters as for ``SessionLogStore.put``.

        ``reason`` is cut at 500 characters and must hold nothing that the person said. Never fails
        because it cannot be written: ``lost``. InputError: an unknown classifier or severity, or no
        session.
        """
        data = {"classifier": classifier, "severity": severity, "reason": reason[:_REASON]}
        return self.put(session, data, owner=owner, id=id, at=at, incognito=incognito)


@dataclass(frozen=True, slots=True)
class FeedbackLogRecord(SessionLogRecord):
    """Record of one opinion on a session."""

    label: FeedbackLabel
    source: FeedbackSource
    modality: SessionMedium


class FeedbackLog(SessionLogStore[FeedbackLogRecord]):
    """Keeps feedback for ``days`` days, whatever memory keeps or forgets."""

    def __init__(self, table: SessionLogTable | None, clock: Clock, days: int) -> None:
        super().__init__(
            "feedback",
            table,
            clock,
            days,
            FeedbackLogRecord,
            label=FeedbackLabel,
            source=FeedbackSource,
            modality=SessionMedium,
        )

    def add(
        self,
        session: str,
        label: str | None,
        *,
        source: str = FeedbackSource.API,
        modality: str = SessionMedium.TEXT,
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> LogWriteOutcome | None:
        """Record an opinion on a session; parameters as for ``SessionLogStore.put``.

        ``label`` None: the question was dismissed, nothing is kept, and the result is None. Never
        fails because it cannot be written: ``lost``. InputError: an unknown label, source or
        modality, or no session.
        """
        data = {"source": source, "modality": modality}
        if label is None:
            self.check_words(data)
            return None
        return self.put(
            session, {"label": label, **data}, owner=owner, id=id, at=at, incognito=incognito
        )
