"""Write the audit log: one JSON line per event."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from engrams import encryption
from engrams.encryption import fileencryption
from engrams.errors import EncryptionError
from engrams.logs.crisisfeedback import make_private
from engrams.ports import Clock

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_HELD = 1000
_BLOCK = 64 * 1024
_LONGEST = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    """One audited event.

    ``actor``: a key's id, or ``local``. ``owner``: whose memory, a scope's key. ``target``: an id, never a text. ``outcome``: done, refused
    or failed. ``number``: how many things it touched. ``request``: the id in the answer's ``X-Request-Id``."""

    at: str
    action: str
    actor: str = "local"
    owner: str = ""
    target: str = ""
    outcome: str = "done"
    number: int = 0
    request: str = ""


class AuditLog:
    """Files ``YYYY-MM-DD.jsonl`` (UTC), readable by their owner alone, kept ``days`` days.

    Without a folder: in memory. A line is one append, so that several processes may write. An event that cannot be written never fails its
    caller; ``lost`` counts those."""

    def __init__(self, folder: Path | None, clock: Clock, days: int) -> None:
        self._folder, self._clock, self._days = folder, clock, days
        self._home = folder.parent if folder else Path()
        self._lock = threading.Lock()
        self._held: deque[AuditLogEntry] = deque(maxlen=_HELD)
        self._file: int | None = None
        self._path = Path()
        """Of the day's file, once it is open."""
        self._day = ""
        self.lost = 0

    def note(
        self,
        action: str,
        *,
        actor: str = "local",
        owner: str = "",
        target: str = "",
        outcome: str = "done",
        number: int = 0,
        request: str = "",
    ) -> None:
        """Write one event."""
        now = self._clock()
        entry = AuditLogEntry(now.isoformat(), action, actor, owner, target[:_LONGEST], outcome, number, request[:_LONGEST])
        with self._lock:
            if self._folder is None:
                self._held.append(entry)
                return
            line = json.dumps({name: value for name in AuditLogEntry.__slots__ if (value := getattr(entry, name)) not in ("", 0)})
            try:
                self._append(now.date(), line.encode("utf-8"))
            except (OSError, EncryptionError) as problem:
                self.lost += 1
                _log.error("the audit log cannot be written: %s", getattr(problem, "strerror", "") or problem)

    def entries(self, *, owner: str = "", action: str = "", day: date | None = None, limit: int = 100) -> tuple[AuditLogEntry, ...]:
        """List events, newest first.

        ``owner``, ``action`` (or how it begins) and ``day`` (UTC) leave out the others."""
        found = []
        for entry in self._iter_newest(day):
            if (not owner or entry.owner == owner) and entry.action.startswith(action):
                found.append(entry)
                if len(found) >= limit:
                    break
        return tuple(found)

    def days(self) -> tuple[str, ...]:
        """List the days that have a file, oldest first."""
        if self._folder is None or not self._folder.is_dir():
            return ()
        return tuple(sorted(path.stem for path in self._folder.glob("*.jsonl") if _DAY.fullmatch(path.stem)))

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file, self._day = None, ""

    def _append(self, today: date, line: bytes) -> None:
        assert self._folder is not None
        day = today.isoformat()
        if day != self._day:
            self._path = self._folder / f"{day}.jsonl"
        with encryption.share_home(self._path):
            if self._file is None or day != self._day or not _is_same(self._file, self._path):
                self._file = self._open_day(today, self._path)
            os.write(self._file, fileencryption.seal_line(self._home, line) + b"\n")

    def _open_day(self, today: date, path: Path) -> int:
        assert self._folder is not None
        make_private(self._folder)
        for old in self.days():
            if old <= (today - timedelta(days=self._days)).isoformat():
                (self._folder / f"{old}.jsonl").unlink(missing_ok=True)
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._day = path.stem
        return self._file

    def _iter_newest(self, day: date | None) -> Iterator[AuditLogEntry]:
        if self._folder is None:
            held = list(self._held)
            yield from (entry for entry in reversed(held) if day is None or datetime.fromisoformat(entry.at).date() == day)
            return
        for name in reversed(self.days()):
            if day is None or name == day.isoformat():
                home = self._folder.parent
                lines = (fileencryption.open_line(home, line) for line in _read_lines_backwards(self._folder / f"{name}.jsonl"))
                yield from (entry for line in lines if (entry := _parse_line(line)) is not None)


def _read_lines_backwards(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        left, tail = file.seek(0, os.SEEK_END), b""
        while left > 0:
            size = min(_BLOCK, left)
            left -= size
            file.seek(left)
            head, *lines = (file.read(size) + tail).split(b"\n")
            yield from reversed(lines)
            tail = head
        yield tail


def _is_same(handle: int, path: Path) -> bool:
    """Test whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _parse_line(line: bytes) -> AuditLogEntry | None:
    try:
        return AuditLogEntry(**json.loads(line))
    except (ValueError, TypeError):
        return None  # a line that a crash cut off
