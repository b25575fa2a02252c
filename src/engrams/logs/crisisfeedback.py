"""Keep records of crises and feedback, which no prompt reads.

Each is kept once by its id, listed by day and dropped by age."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

from engrams import encryption
from engrams.clock import micros, utc
from engrams.errors import EncryptionError, InputError, StoreError
from engrams.ports import Clock
from engrams.settings import Settings
from engrams.types.logenums import CrisisDetectionSource, CrisisSeverity, FeedbackLabel, FeedbackSource, LogWriteOutcome, SessionMedium

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, owner TEXT, session TEXT NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS records_at ON records (at);
"""
_PUT = "INSERT OR IGNORE INTO records (id, at, owner, session, data) VALUES (?, ?, ?, ?, ?)"
_LIST = """
SELECT id, at, owner, session, data FROM records
WHERE at >= :since AND at < :until AND (:session = '' OR session = :session)
    AND (:owner = '' OR owner = :owner OR substr(owner, 1, length(:owner) + 1) = :owner || '/')
ORDER BY at DESC, place DESC LIMIT :limit
"""
_PURGE = "DELETE FROM records WHERE at < ?"
_KEY = 32
_DAY = 86_400_000_000
_BUSY_SECONDS = 5.0

_Record = TypeVar("_Record", bound="SessionLogRecord")
_log = logging.getLogger(__name__)


def home_folder(settings: Settings) -> Path | None:
    """Return the home folder; None where memory is in this process only."""
    bare = settings.is_volatile
    return None if bare else settings.home.expanduser()


def make_private(folder: Path) -> None:
    """Make a folder, and the home above it, for their owner alone."""
    folder.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


@dataclass(frozen=True, slots=True)
class SessionLogRecord:
    """Fields that crisis and feedback records share.

    ``id`` and ``session`` are hashes. ``owner``: a scope's key; None where nobody was named, and in incognito."""

    id: str
    at: datetime
    session: str
    owner: str | None


class SessionLogStore(Generic[_Record]):
    """Storage of one session log: write once, list, purge, expire.

    The file is ``ledgers/NAME.db`` in the home; without a home, and in incognito, records stay in memory. A record that cannot be written
    never fails its caller; ``lost`` counts those. ``words``: the closed list of a field of ``record``. Thread safe; several processes may
    write."""

    def __init__(
        self, name: str, home: Path | None, clock: Clock, days: int, record: Callable[..., _Record], **words: type[StrEnum]
    ) -> None:
        self._name, self._clock, self._days, self._record, self._words = name, clock, days, record, words
        self._memory = LogDatabase(None)
        self._kept = self._memory if home is None else LogDatabase(home / "ledgers" / f"{name}.db")
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

        ``session``: its name, of which only a hash is kept. ``owner``: a scope's key, or empty. ``id``: the same id is kept once for an
        owner; without one, the same data at the same time is. ``at``: None is now. ``incognito``: in this process only, and without an
        owner. InputError: no session, a word outside its list, or a time out of range."""
        self.check_words(data)
        if not session.strip():
            raise InputError("A record is about a session.", hint="Name the session.")
        now = self._clock()
        at = utc(at or now)
        try:
            new = self._insert(self._memory if incognito else self._kept, session, data, owner, id, at)
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
                raise InputError(f"There is no {words.__name__.lower()} {value!r}.", hint=f"Known: {', '.join(words)}.")

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

        ``owner``: a scope's key, with the scopes below it. ``session``: its name. ``day``: only this one (UTC); ``since``, ``until``: the
        first and the last. StoreError: the records cannot be read."""
        first = max(self._oldest_day(), day or since or date.min)
        last, most = _start_micros(day or until or date.max) + _DAY, max(0, limit)
        found: list[_Record] = []
        for database in self._databases:
            if database.exists:
                hashed = database.hash(b"session", session) if session else ""
                name = replace_surrogates(owner)
                values = {"since": _start_micros(first), "until": last, "session": hashed, "owner": name, "limit": most}
                found += (self._to_record(*row) for row in database.query(_LIST, values))
        return tuple(sorted(found, key=lambda record: record.at, reverse=True)[:most])

    def purge(self, before: date) -> int:
        """Erase records before a day (UTC); return their number. StoreError: failed."""
        return sum(database.execute(_PURGE, (_start_micros(before),)) for database in self._databases if database.exists)

    def sweep(self) -> int:
        """Erase records older than ``days``; return their number."""
        return self.purge(self._oldest_day())

    def close(self) -> None:
        for database in self._databases:
            database.close()

    def _insert(self, database: LogDatabase, session: str, data: Mapping[str, str], owner: str, id: str, at: datetime) -> bool:
        name = replace_surrogates(owner) or None if database is not self._memory else None
        hashed = database.hash(b"session", session)
        text = json.dumps({field: replace_surrogates(value) for field, value in data.items()}, sort_keys=True)
        parts = (b"given", id) if id else (b"derived", hashed, at.isoformat(), text)
        return database.execute(_PUT, (database.hash(*parts, name or ""), micros(at), name, hashed, text)) > 0

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

    def _to_record(self, id: str, at: int, owner: str | None, session: str, data: str) -> _Record:
        values = {name: self._words.get(name, str)(value) for name, value in json.loads(data).items()}
        return self._record(id, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at), session, owner, **values)


class LogDatabase:
    """Database in memory, or in a file beside its hash key."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, RLock()
        self._key = b""
        self._database = encryption.HomeDatabase(path, _BUSY_SECONDS, _SCHEMA)

    @property
    def exists(self) -> bool:
        return self._database.is_open if self._path is None else self._path.is_file()

    def hash(self, what: bytes, *parts: str) -> str:
        """Hash texts with the home's key into 32 hex digits."""
        with self._lock, self._map_errors():
            if not self._key:
                self._key = secrets.token_bytes(_KEY) if self._path is None else _load_key(self._path.with_name("session.key"))
        text = json.dumps(parts).encode()
        return hashlib.blake2b(text, digest_size=16, key=self._key, person=what).hexdigest()

    def query(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            return list(self._connection().execute(statement, values))

    def execute(self, statement: str, values: tuple[Any, ...]) -> int:
        """Run a statement; return the number of changed rows."""
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            connection = self._connection()
            connection.execute(statement, values)
            return int(connection.changes())

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _connection(self) -> Any:
        if self._path is not None:
            make_private(self._path.parent)
        return self._database.get()

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except OSError as problem:
            raise StoreError(f"{self._location}: {problem.strerror or problem}.", hint="Look at the folder and the disk.") from problem
        except apsw.Error as problem:
            raise StoreError(f"{self._location}: {problem}.", hint="Look at the disk; a damaged file may be moved away.") from problem

    @property
    def _location(self) -> str:
        return str(self._path or ":memory:")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _load_key(path: Path) -> bytes:
    # Appended, so that of several processes that make it at once one's is first for all of them.
    make_private(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        if os.fstat(handle).st_size < _KEY:
            os.write(handle, secrets.token_bytes(_KEY))
            os.fsync(handle)
        os.lseek(handle, 0, os.SEEK_SET)
        key = os.read(handle, _KEY)
    finally:
        os.close(handle)
    if len(key) < _KEY:
        raise OSError(f"{path.name} could not be written whole")
    return key


def _start_micros(day: date) -> int:
    return micros(datetime.combine(day, time(tzinfo=UTC)))


_REASON = 500


@dataclass(frozen=True, slots=True)
class CrisisLogRecord(SessionLogRecord):
    """Record of a crisis; ``reason``: the classifier's words, cut at 500 characters."""

    classifier: CrisisDetectionSource
    severity: CrisisSeverity
    reason: str


class CrisisLog(SessionLogStore[CrisisLogRecord]):
    """Keeps crises for ``days`` days, whatever memory keeps or forgets."""

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__("safety", home, clock, days, CrisisLogRecord, classifier=CrisisDetectionSource, severity=CrisisSeverity)

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

        ``reason`` is cut at 500 characters and must hold nothing that the person said. Never fails because it cannot be written: ``lost``.
        InputError: an unknown classifier or severity, or no session."""
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

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__(
            "feedback", home, clock, days, FeedbackLogRecord, label=FeedbackLabel, source=FeedbackSource, modality=SessionMedium
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

        ``label`` None: the question was dismissed, nothing is kept, and the result is None. Never fails because it cannot be written:
        ``lost``. InputError: an unknown label, source or modality, or no session."""
        data = {"source": source, "modality": modality}
        if label is None:
            self.check_words(data)
            return None
        return self.put(session, {"label": label, **data}, owner=owner, id=id, at=at, incognito=incognito)
