"""Records that no prompt ever reads, in a small database of their own: kept once by id, listed by day, dropped by age."""

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

from engrams.clock import micros, utc
from engrams.errors import InputError, StoreError
from engrams.ports import Clock
from engrams.settings import Settings
from engrams.types.logs import Kept

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
_BUSY = 5_000

_Word = TypeVar("_Word", bound=StrEnum)
_Record = TypeVar("_Record")
_log = logging.getLogger(__name__)


def home_of(settings: Settings) -> Path | None:
    """The home folder; None where memory is in this process only, and with it everything else."""
    bare = settings.incognito or settings.store.url == ":memory:"
    return None if bare else settings.home.expanduser()


def make(folder: Path) -> None:
    """The folder, and the home above it, for nobody else to look into."""
    folder.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def word(kind: type[_Word], value: str) -> _Word:
    """A word of a closed list. InputError tells those there are."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"There is no {kind.__name__.lower()} {value!r}.", hint=f"Known: {', '.join(kind)}.") from None


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be kept. ``session``: its name, of which only a hash is kept. ``owner``: a scope's key, or empty. ``id``: the same
    record has the same; without one it is told by everything it says. ``at``: None is now. ``incognito``: only in this process,
    and nobody's."""

    session: str
    data: Mapping[str, str]
    owner: str = ""
    id: str = ""
    at: datetime | None = None
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A record as it is kept. ``id`` and ``session`` are hashes."""

    id: str
    at: datetime
    owner: str | None
    session: str
    data: Mapping[str, str]


class Ledger(Generic[_Record]):
    """``NAME.db`` in the folder ``ledgers`` of a home, for their owner's eyes only; without a home, and in incognito, in memory.

    A record that cannot be written never fails what it is about; ``lost`` counts those. Thread safe; several processes may write.
    """

    def __init__(self, name: str, home: Path | None, clock: Clock, days: int, made: Callable[[Row], _Record]) -> None:
        self._name, self._clock, self._days, self._made = name, clock, days, made
        self._fleeting = Sheet(None)
        self._kept = self._fleeting if home is None else Sheet(home / "ledgers" / f"{name}.db")
        self._sheets = tuple(dict.fromkeys((self._kept, self._fleeting)))
        self._swept: date | None = None
        self.lost = 0

    def put(self, note: Note) -> Kept:
        """Keep a record once. InputError: it names no session, or its time is out of range."""
        if not note.session.strip():
            raise InputError("A record is about a session.", hint="Name the session.")
        now = self._clock()
        at = utc(note.at or now)
        try:
            new = self._put(self._fleeting if note.incognito else self._kept, note, at)
            self._daily(now)
        except StoreError as problem:
            self.lost += 1
            _log.error("the %s log cannot be written: %s", self._name, problem)
            return Kept.LOST
        return Kept.STORED if new else Kept.KNOWN

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
        """Newest first, none that is older than is kept. ``owner``: a scope's key, what is below it too. ``session``: its name.
        ``day``: only this one (UTC); ``since``, ``until``: the first and the last. StoreError: they cannot be read."""
        first = max(self._oldest(), day or since or date.min)
        last, most = _micros(day or until or date.max) + _DAY, max(0, limit)
        found: list[Row] = []
        for sheet in self._sheets:
            if sheet.exists:
                hashed = sheet.hash(b"session", session) if session else ""
                values = {"since": _micros(first), "until": last, "session": hashed, "owner": clean(owner), "limit": most}
                found += (_row(*row) for row in sheet.ask(_LIST, values))
        newest = sorted(found, key=lambda row: row.at, reverse=True)
        return tuple(self._made(row) for row in newest[:most])

    def purge(self, before: date) -> int:
        """Erase the records of every day before this one (UTC), whose own stay; how many. StoreError: that failed."""
        return sum(sheet.change(_PURGE, (_micros(before),)) for sheet in self._sheets if sheet.exists)

    def sweep(self) -> int:
        """Erase what is older than is kept; how many. The first record of a day does it too."""
        return self.purge(self._oldest())

    def close(self) -> None:
        for sheet in self._sheets:
            sheet.close()

    def _put(self, sheet: Sheet, note: Note, at: datetime) -> bool:
        """Whether it was not there yet."""
        owner = clean(note.owner) or None if sheet is not self._fleeting else None
        session = sheet.hash(b"session", note.session)
        data = json.dumps({name: clean(value) for name, value in note.data.items()}, sort_keys=True)
        told = (b"given", note.id) if note.id else (b"derived", session, at.isoformat(), data)
        id = sheet.hash(*told, owner or "")
        return sheet.change(_PUT, (id, micros(at), owner, session, data)) > 0

    def _daily(self, now: datetime) -> None:
        """What is too old goes with the first record of a day; that this failed loses no record."""
        if self._swept == now.date():
            return
        self._swept = now.date()
        try:
            self.sweep()
        except StoreError as problem:
            _log.error("the %s log keeps what is too old: %s", self._name, problem)

    def _oldest(self) -> date:
        return utc(self._clock()).date() - timedelta(days=self._days)


class Sheet:
    """One database: a file that the first record makes, or in memory. Beside a file lies the key of its hashes."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, RLock()
        self._process, self._key = os.getpid(), b""
        self._open: Any = None
        self._abandoned: Any = None

    @property
    def exists(self) -> bool:
        return self._open is not None if self._path is None else self._path.is_file()

    def hash(self, what: bytes, *parts: str) -> str:
        """32 hex digits, the same in one home for the same parts, and not to be guessed back without its key."""
        with self._lock, self._mapped():
            if not self._key:
                self._key = secrets.token_bytes(_KEY) if self._path is None else _shared(self._path.with_name("session.key"))
        text = json.dumps(parts).encode()
        return hashlib.blake2b(text, digest_size=16, key=self._key, person=what).hexdigest()

    def ask(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with self._lock, self._mapped():
            return list(self._connection().execute(statement, values))

    def change(self, statement: str, values: tuple[Any, ...]) -> int:
        """How many rows it changed."""
        with self._lock, self._mapped():
            connection = self._connection()
            connection.execute(statement, values)
            return int(connection.changes())

    def close(self) -> None:
        with self._lock:
            if self._open is not None and self._process == os.getpid():
                self._open.close()
            self._open = None

    def _connection(self) -> Any:
        import apsw

        if self._path is not None and self._process != os.getpid():
            # A connection that a fork copied belongs to the parent.
            self._abandoned, self._open, self._process = self._open, None, os.getpid()
        if self._open is None:
            if self._path is not None:
                make(self._path.parent)
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = apsw.Connection(str(self._path or ":memory:"))
            connection.set_busy_timeout(_BUSY)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(_SCHEMA)
            self._open = connection
        return self._open

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except OSError as problem:
            raise StoreError(f"{self._place}: {problem.strerror or problem}.", hint="Look at the folder and the disk.") from problem
        except apsw.Error as problem:
            raise StoreError(f"{self._place}: {problem}.", hint="Look at the disk; a damaged file may be moved away.") from problem

    @property
    def _place(self) -> str:
        return str(self._path or ":memory:")


def clean(text: str) -> str:
    """A text that can be stored: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shared(path: Path) -> bytes:
    """The home's key, made by whoever needs it first. It is appended, so that of several who make it at once one's is first for
    all of them."""
    make(path.parent)
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


def _micros(day: date) -> int:
    return micros(datetime.combine(day, time(tzinfo=UTC)))


def _row(id: str, at: int, owner: str | None, session: str, data: str) -> Row:
    return Row(id, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at), owner, session, json.loads(data))
