"""Audit events in files of a home, or in memory."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from engrams import encryption
from engrams.encryption import file_encryption
from engrams.encryption.file_ledger import FileLedger
from engrams.encryption.seal_keys import KEY_NAME
from engrams.errors import StoreError
from engrams.logs import audit_chain
from engrams.logs.session_log_database import make_private
from engrams.ports import AuditEventBatch, AuditEventQuery, AuditLogEntry

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_IN_MEMORY = 1000
_BLOCK_BYTES = 64 * 1024


class AuditEventFiles:
    """Files ``YYYY-MM-DD.jsonl`` (UTC), readable by their owner alone.

    Lines of one call are one append, so that several processes may write. Each line has a seal
    that binds it to the line before (``audit_chain``).
    ``seal_key``: file with the key of the home's seals, the one beside the folder by default.
    """

    is_remote = False

    def __init__(self, folder: Path, seal_key: Path | None = None) -> None:
        self._folder = folder
        self._home = folder.parent
        self._ledger = FileLedger(self._home, seal_key or folder.with_name(KEY_NAME))
        self._file: int | None = None
        self._path = Path()
        """Path of the day's file, once it is open."""
        self._day = ""

    def append_events(self, batch: AuditEventBatch) -> None:
        events: dict[str, list[dict[str, Any]]] = {}
        for entry in batch.entries:
            fields = {name: getattr(entry, name) for name in AuditLogEntry.__slots__}
            event = {name: value for name, value in fields.items() if value not in ("", 0)}
            events.setdefault(entry.at[:10], []).append(event)
        with self._map_errors():
            for day, day_events in events.items():
                self._append(day, day_events)

    def list_events(self, query: AuditEventQuery) -> tuple[AuditLogEntry, ...]:
        with self._map_errors():
            return _select(self._iter_newest(query.day), query)

    def list_days(self) -> tuple[date, ...]:
        if not self._folder.is_dir():
            return ()
        return tuple(
            date.fromisoformat(name)
            for name in sorted(path.stem for path in self._folder.glob("*.jsonl"))
            if _DAY.fullmatch(name)
        )

    def iter_day(self, day: date) -> Iterator[AuditLogEntry]:
        path = self._folder / f"{day}.jsonl"
        if path.exists():
            with self._map_errors(), path.open("rb") as file:
                yield from self._parse_lines(line.rstrip(b"\n") for line in file)

    def drop_events(self, before: date) -> int:
        dropped = [day for day in self.list_days() if day < before]
        if not dropped:
            return 0
        with self._map_errors(), self._ledger.update() as (_, files):
            chains = files.get("audit", {}).get("days", {})
            for day in dropped:
                (self._folder / f"{day}.jsonl").unlink(missing_ok=True)
                chains.pop(str(day), None)
        return len(dropped)

    def find_break(self) -> str:
        """Say where another program changed the log; empty: nowhere."""
        days = [str(day) for day in self.list_days()]
        with self._map_errors(), self._ledger.update() as (key, files):
            audit = files.get("audit", {})
            return audit_chain.find_break(key, audit, days, self._read_lines)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None
        self._day = ""

    def _append(self, day: str, events: Sequence[dict[str, Any]]) -> None:
        if day != self._day:
            self._path = self._folder / f"{day}.jsonl"
            self._note_day(day)
        with encryption.share_home(self._path), self._ledger.update() as (key, files):
            if self._file is None or day != self._day or not _is_same(self._file, self._path):
                self._file = self._open_day(self._path)
            size = os.fstat(self._file).st_size
            if key:
                audit = files.setdefault("audit", {})
                chain = audit_chain.open_chain(key, audit, day, size, self._read_lines)
                lines = audit_chain.extend(key, chain, events)
            else:
                chain = {}
                lines = [json.dumps(event).encode() for event in events]
            sealed = [file_encryption.seal_line(self._home, line) + b"\n" for line in lines]
            os.write(self._file, b"".join(sealed))
            chain["size"] = size + sum(map(len, sealed))

    def _note_day(self, day: str) -> None:
        """Note a day before its first line, so that a crash between both leaves no unknown day."""
        size = self._path.stat().st_size if self._path.exists() else 0
        with self._ledger.update() as (key, files):
            audit = files.setdefault("audit", {})
            audit_chain.open_chain(key, audit, day, size, self._read_lines)

    def _read_lines(self, day: str) -> Iterator[bytes]:
        path = self._folder / f"{day}.jsonl"
        if path.exists():
            with path.open("rb") as file:
                for line in file:
                    yield file_encryption.open_line(self._home, line.rstrip(b"\n"))

    def _open_day(self, path: Path) -> int:
        make_private(self._folder)
        self.close()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._day = path.stem
        return self._file

    def _iter_newest(self, only_day: date | None) -> Iterator[AuditLogEntry]:
        for day in reversed(self.list_days()):
            if only_day is None or day == only_day:
                yield from self._parse_lines(_read_lines_backwards(self._folder / f"{day}.jsonl"))

    def _parse_lines(self, lines: Iterator[bytes]) -> Iterator[AuditLogEntry]:
        for line in lines:
            entry = _parse_line(file_encryption.open_line(self._home, line))
            if entry is not None:
                yield entry

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise StoreError(
                f"{problem.strerror or problem}.", hint=f"Look at {self._folder}."
            ) from problem


class AuditEventMemory:
    """The last thousand events, in this process only."""

    is_remote = False

    def __init__(self) -> None:
        self._entries: deque[AuditLogEntry] = deque(maxlen=_MAX_IN_MEMORY)

    def append_events(self, batch: AuditEventBatch) -> None:
        self._entries.extend(batch.entries)

    def list_events(self, query: AuditEventQuery) -> tuple[AuditLogEntry, ...]:
        newest: Iterator[AuditLogEntry] = reversed(list(self._entries))
        if query.day is not None:
            newest = (entry for entry in newest if _get_day(entry) == query.day)
        return _select(newest, query)

    def list_days(self) -> tuple[date, ...]:
        """List no day: nothing is stored."""
        return ()

    def iter_day(self, day: date) -> Iterator[AuditLogEntry]:
        return iter([entry for entry in list(self._entries) if _get_day(entry) == day])

    def drop_events(self, before: date) -> int:  # noqa: ARG002
        """Drop nothing: the oldest events are dropped by new ones."""
        return 0

    def close(self) -> None:
        """Do nothing: the events end with the process."""


def _select(newest: Iterator[AuditLogEntry], query: AuditEventQuery) -> tuple[AuditLogEntry, ...]:
    """Take the newest events that pass a query's filter."""
    matches = (
        entry
        for entry in newest
        if query.owner in ("", entry.owner) and entry.action.startswith(query.action)
    )
    return tuple(islice(matches, query.limit))


def _get_day(entry: AuditLogEntry) -> date:
    return datetime.fromisoformat(entry.at).date()


def _read_lines_backwards(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        tail = b""
        while start > 0:
            size = min(_BLOCK_BYTES, start)
            start -= size
            file.seek(start)
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
        fields = json.loads(line)
        fields.pop("seal", None)
        return AuditLogEntry(**fields)
    except (ValueError, TypeError, AttributeError):
        return None  # a line that a crash cut off
