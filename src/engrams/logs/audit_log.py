"""Write the audit log; reads and remote ones in the background."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import deque
from datetime import date, timedelta

from engrams.core.clock import utc
from engrams.errors import EngramsError, InputError
from engrams.ports import AuditEventBatch, AuditEventQuery, AuditEventTable, AuditLogEntry, Clock

_LONGEST = 200
_FLUSH_SECONDS = 0.5
"""Time for which events wait for more before a server is asked to keep them."""
_READ_SECONDS = 0.1
"""Time for which reads wait to be written to a file together."""
_AGAIN_SECONDS = 1.0
"""Pause after a server did not take them."""
_TOGETHER = 500
_MOST_WAITING = 10_000
"""Events that wait for a server at most; those beyond it are lost."""
_LAST_SECONDS = 20.0
"""Time that the end of a process leaves to a write that runs."""
_NUMBERS = 32
"""Bits of an event's number within its process; those above are the process' own."""

_log = logging.getLogger(__name__)


class AuditLog:
    """Log of who did what, without texts, kept ``days`` days. Thread safe.

    An event that cannot be written never fails its caller, and where a server keeps it, never makes
    it wait: a thread writes it within a second, and ``close`` what is left. So with reads in a
    file, within a tenth of a second and in order. ``lost`` counts events that could not be written.
    """

    def __init__(self, events: AuditEventTable, clock: Clock, days: int) -> None:
        self._events = events
        self._clock = clock
        self._days = days
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: deque[AuditLogEntry] = deque()
        self._unwritten: AuditEventBatch | None = None
        """Batch that a server did not take; it is written again as it was, so that nothing is
        written twice.
        """
        self._next_number = secrets.randbits(63 - _NUMBERS) << _NUMBERS
        self._swept: date | None = None
        self._thread: threading.Thread | None = None
        self._told = threading.Event()
        self._ending = threading.Event()
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
        can_wait: bool = False,
    ) -> None:
        """Write one event; ``can_wait``: perhaps together with later ones."""
        now = self._clock()
        entry = AuditLogEntry(
            at=now.isoformat(),
            action=action,
            actor=actor,
            owner=owner,
            target=target[:_LONGEST],
            outcome=outcome,
            number=number,
            request=request[:_LONGEST],
        )
        if self._events.is_remote or can_wait:
            self._hold(entry)
        else:
            with self._writing:
                self._write_waiting()
                self._write(AuditEventBatch((entry,), 0))
                self._sweep_daily(now.date())

    def entries(
        self, *, owner: str = "", action: str = "", day: date | None = None, limit: int = 100
    ) -> tuple[AuditLogEntry, ...]:
        """List events, newest first, with those that other processes wrote.

        ``owner``, ``action`` (or how it begins) and ``day`` (UTC) leave out the others. StoreError:
        they cannot be read.
        """
        self.flush()
        return self._events.list_events(AuditEventQuery(owner, action, day, limit))

    def days(self) -> tuple[str, ...]:
        """List the days with events, oldest first. StoreError: as ``entries``."""
        return tuple(map(str, self._events.list_days()))

    def flush(self) -> bool:
        """Write the events that wait; False: a server did not take them."""
        with self._writing:
            return self._write_waiting()

    def sweep(self) -> int:
        """Erase what is older than ``days``.

        Returns a number of what went: events or files. StoreError: failed.
        """
        return self._events.drop_events(utc(self._clock()).date() - timedelta(days=self._days - 1))

    def close(self) -> None:
        """Write what waits, and end. May be called twice."""
        self._ending.set()
        self._told.set()
        if self._writing.acquire(timeout=_LAST_SECONDS):
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

    def _hold(self, entry: AuditLogEntry) -> None:
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING or self._ending.is_set():
                self.lost += 1
                return
            self._waiting.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="engrams-audit", daemon=True)
                self._thread.start()
        self._told.set()

    def _run(self) -> None:
        seconds = _FLUSH_SECONDS if self._events.is_remote else _READ_SECONDS
        while self._told.wait() and not self._ending.wait(seconds):
            self._told.clear()
            if not self.flush():
                self._told.set()
                self._ending.wait(_AGAIN_SECONDS)

    def _write_waiting(self) -> bool:
        while batch := self._unwritten or self._take_batch():
            self._unwritten = None if self._write(batch) else batch
            if self._unwritten is not None:
                return False
        return True

    def _take_batch(self) -> AuditEventBatch | None:
        with self._lock:
            entries = tuple(
                self._waiting.popleft() for _ in range(min(_TOGETHER, len(self._waiting)))
            )
        number = self._next_number
        self._next_number += len(entries)
        return AuditEventBatch(entries, number) if entries else None

    def _write(self, batch: AuditEventBatch) -> bool:
        """Write a batch; False where it has to be written again."""
        try:
            self._events.append_events(batch)
        except EngramsError as problem:
            again = self._events.is_remote and not isinstance(problem, InputError)
            if not again:
                self.lost += len(batch.entries)
            if batch is not self._unwritten:
                _log.error("the audit log cannot be written: %s", problem.message)
            return not again
        return True

    def _sweep_daily(self, today: date) -> None:
        if self._swept == today:
            return
        self._swept = today
        try:
            self.sweep()
        except EngramsError as problem:
            _log.error("the audit log keeps what is too old: %s", problem.message)
