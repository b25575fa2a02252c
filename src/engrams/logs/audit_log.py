"""The audit log: who did what with memory, without texts.

Events that go to a server, and reads, are written by a thread in the background.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import deque
from datetime import date, timedelta

from engrams.core.clock import utc
from engrams.errors import EngramsError, InputError
from engrams.ports import AuditEventBatch, AuditEventQuery, AuditEventTable, AuditLogEntry, Clock

_MAX_TEXT = 200
"""Characters of a target and of a request's id."""
_SERVER_SECONDS = 0.5
"""Time for which events wait for others before they are sent to a server together."""
_FILE_SECONDS = 0.1
"""Time for which events of reads wait for others before they are written to a file together."""
_RETRY_SECONDS = 1.0
"""Pause after a server did not take them."""
_MAX_BATCH = 500
_MAX_WAITING = 10_000
"""Events that may wait for a server; others are lost."""
_CLOSE_SECONDS = 20.0
"""Time that the end of a process leaves to a write that runs."""
_NUMBER_BITS = 32
"""Bits of an event's number within its process; those above are random for each process."""

_log = logging.getLogger(__name__)


class AuditLog:
    """Log of who did what, without texts, stored for ``days`` days. Thread safe.

    An event that cannot be written never fails its caller; ``lost`` counts those. An event for a
    server never makes its caller wait, either: a thread writes it within a second, and ``close``
    writes the rest. The same is true of reads in a file, within a tenth of a second and in order.
    """

    def __init__(self, events: AuditEventTable, clock: Clock, days: int) -> None:
        self._events = events
        self._clock = clock
        self._days = days
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: deque[AuditLogEntry] = deque()
        self._unwritten: AuditEventBatch | None = None
        """Batch that a server did not take.

        It is written again with the same number, so that no event is written twice.
        """
        self._next_number = secrets.randbits(63 - _NUMBER_BITS) << _NUMBER_BITS
        self._swept_on: date | None = None
        self._thread: threading.Thread | None = None
        self._has_waiting = threading.Event()
        self._ending = threading.Event()
        self.lost = 0

    def note(  # noqa: PLR0913 - the fields of an event
        self,
        action: str,
        *,
        actor: str = "local",
        owner: str = "",
        target: str = "",
        outcome: str = "done",
        number: int = 0,
        request: str = "",
        can_wait: bool = False,
    ) -> None:
        """Write one event.

        The options are fields of ``AuditLogEntry``. ``can_wait``: it may be written together with
        later events, by the thread.
        """
        now = self._clock()
        entry = AuditLogEntry(
            at=now.isoformat(),
            action=action,
            actor=actor,
            owner=owner,
            target=target[:_MAX_TEXT],
            outcome=outcome,
            number=number,
            request=request[:_MAX_TEXT],
        )
        if self._events.is_remote or can_wait:
            self._queue(entry)
        else:
            with self._writing:
                self._write_waiting()
                self._write(AuditEventBatch((entry,), 0))
                self._sweep_daily(now.date())

    def entries(
        self, *, owner: str = "", action: str = "", day: date | None = None, limit: int = 100
    ) -> tuple[AuditLogEntry, ...]:
        """List events, newest first, with those that other processes wrote.

        ``owner``: a scope's key. ``action``: its beginning. ``day``: UTC. StoreError: they cannot
        be read.
        """
        self.flush()
        return self._events.list_events(AuditEventQuery(owner, action, day, limit))

    def days(self) -> tuple[str, ...]:
        """List the days with events, oldest first. StoreError: as ``entries``."""
        return tuple(map(str, self._events.list_days()))

    def flush(self) -> bool:
        """Write the events that wait. False: a server did not take them."""
        with self._writing:
            return self._write_waiting()

    def sweep(self) -> int:
        """Erase events older than ``days``; return the number of events, or of files of a home.

        StoreError: they cannot be erased.
        """
        return self._events.drop_events(utc(self._clock()).date() - timedelta(days=self._days - 1))

    def close(self) -> None:
        """Write the events that wait, and stop the thread. May be called twice."""
        self._ending.set()
        self._has_waiting.set()
        if self._writing.acquire(timeout=_CLOSE_SECONDS):
            try:
                self._write_waiting()
            finally:
                self._writing.release()
        with self._lock:
            unwritten = self._unwritten
            self._unwritten = None
            self.lost += len(self._waiting) + (len(unwritten.entries) if unwritten else 0)
            self._waiting.clear()
        self._events.close()

    def _queue(self, entry: AuditLogEntry) -> None:
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING or self._ending.is_set():
                self.lost += 1
                return
            self._waiting.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="engrams-audit", daemon=True)
                self._thread.start()
        self._has_waiting.set()

    def _run(self) -> None:
        seconds = _SERVER_SECONDS if self._events.is_remote else _FILE_SECONDS
        while self._has_waiting.wait() and not self._ending.wait(seconds):
            self._has_waiting.clear()
            if not self.flush():
                self._has_waiting.set()
                self._ending.wait(_RETRY_SECONDS)

    def _write_waiting(self) -> bool:
        """Write the events that wait. False: a server did not take them."""
        while True:
            batch = self._unwritten or self._take_batch()
            if batch is None:
                return True
            if not self._write(batch):
                self._unwritten = batch
                return False
            self._unwritten = None

    def _take_batch(self) -> AuditEventBatch | None:
        with self._lock:
            entries = tuple(
                self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))
            )
        number = self._next_number
        self._next_number += len(entries)
        return AuditEventBatch(entries, number) if entries else None

    def _write(self, batch: AuditEventBatch) -> bool:
        """Write a batch; False where it has to be written again."""
        try:
            self._events.append_events(batch)
        except EngramsError as problem:
            can_retry = self._events.is_remote and not isinstance(problem, InputError)
            if not can_retry:
                self.lost += len(batch.entries)
            if batch is not self._unwritten:  # only once for each batch
                _log.error("the audit log cannot be written: %s", problem.message)
            return not can_retry
        return True

    def _sweep_daily(self, today: date) -> None:
        if self._swept_on == today:
            return
        self._swept_on = today
        try:
            self.sweep()
        except EngramsError as problem:
            _log.error("the audit log could not erase old events: %s", problem.message)
