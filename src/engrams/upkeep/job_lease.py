"""Leases of running jobs, renewed in a thread while their work goes on.

A lease says until when a job is its worker's. Whoever stops renewing it, because the process died
or froze, loses the job to the next worker that claims it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

from engrams.errors import ClosedError, EngramsError
from engrams.ports import Clock, JobQueue

_log = logging.getLogger(__name__)
_RENEWALS_PER_LEASE = 4
"""So that three renewals may fail (disk full, database busy) before a lease is lost."""
_MIN_INTERVAL = 0.05
"""Seconds between two renewals, at least."""


class JobLeaseRenewer:
    """Renews the leases of running jobs in a thread."""

    def __init__(self, jobs: JobQueue, clock: Clock, seconds: float) -> None:
        """Set up the renewer.

        ``seconds``: the length of a lease, renewed four times in it.
        """
        self._jobs = jobs
        self._clock = clock
        self._seconds = seconds
        self._leases: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, lease: str) -> Iterator[None]:
        """Keep a job's lease renewed while this block runs."""
        with self._lock:
            self._leases.add(lease)
            # A forked child inherits the thread's object but not its thread.
            if (self._thread is None or not self._thread.is_alive()) and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run_renewals, name="engrams-leases", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._leases.discard(lease)

    def renew(self) -> None:
        """Renew the leases of all work that is going on."""
        with self._lock:
            leases = tuple(self._leases)
        for lease in leases:
            self._jobs.renew(lease, self._clock() + timedelta(seconds=self._seconds))

    def close(self) -> tuple[str, ...]:
        """Stop renewing; returns the leases of work that is still going on."""
        with self._lock:
            # Set under the lock: a thread that is seen here has been started, and none starts later.
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            return tuple(self._leases)

    def _run_renewals(self) -> None:
        interval = max(self._seconds / _RENEWALS_PER_LEASE, _MIN_INTERVAL)
        while not self._stop.wait(interval):
            try:
                self.renew()
            except ClosedError:
                return
            except EngramsError as problem:
                # Disk full or busy: the next renewal comes well before the lease ends.
                _log.warning("lease of a job: %s", problem.message)


@contextmanager
def keep_lease(jobs: JobQueue, clock: Clock, token: str, seconds: float) -> Iterator[None]:
    """Keep one job's lease renewed while this block runs, by a thread of its own."""
    with closing(JobLeaseRenewer(jobs, clock, seconds)) as leases, leases.hold(token):
        yield
