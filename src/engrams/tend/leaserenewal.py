"""Renew the leases of running jobs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from engrams.errors import ClosedError, EngramsError
from engrams.ports import Clock, JobQueue

_log = logging.getLogger(__name__)
_BEATS = 4
_LEAST = 0.05


class JobLeaseRenewer:
    """Heartbeat of running jobs: their leases never expire while their work lives."""

    def __init__(self, jobs: JobQueue, clock: Clock, seconds: float) -> None:
        """Set up the keeper.
        ``seconds``: the length of a lease, renewed four times in it."""
        self._jobs, self._clock, self._seconds = jobs, clock, seconds
        self._leases: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, lease: str) -> Iterator[None]:
        """Renew a lease inside this block."""
        with self._lock:
            self._leases.add(lease)
            # A forked child inherits the thread's object but not its thread.
            if (self._thread is None or not self._thread.is_alive()) and not self._stop.is_set():
                self._thread = threading.Thread(target=self._beat, name="engrams-leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._leases.discard(lease)

    def renew(self) -> None:
        """Renew the leases of all work that lives."""
        with self._lock:
            held = tuple(self._leases)
        for lease in held:
            self._jobs.renew(lease, self._clock() + timedelta(seconds=self._seconds))

    def close(self) -> None:
        """End the heartbeat."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(max(self._seconds / _BEATS, _LEAST)):
            try:
                self.renew()
            except ClosedError:
                return
            except EngramsError as problem:
                # Disk full or busy: the next beat tries again, well before the lease ends.
                _log.warning("lease of a job: %s", problem.message)
