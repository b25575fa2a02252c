"""Notices of new jobs: sent after a commit, heard apart."""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Callable
from typing import Any

import psycopg

CHANNEL = "engrams_jobs"
NOTICE = ("BEGIN", "SET LOCAL synchronous_commit = off", f"NOTIFY {CHANNEL}", "COMMIT")
"""Sent by itself: in the transaction of a write it would keep all others with a notice waiting for
the disk.
"""
_RETRY_SECONDS = 5.0
"""Pause after which a connection that was lost is made anew; workers look by themselves meanwhile.
"""
_CHECK_SECONDS = 60.0
"""Seconds after which a silent connection is asked whether it lives."""


class JobNoticeListener:
    """Thread that calls functions whenever some process adds jobs.

    Nothing depends on it: workers also look by themselves, so a lost notice costs a second at most.
    """

    def __init__(self, url: str, keep_alive: dict[str, Any]) -> None:
        self._url = url
        self._keep_alive = keep_alive
        self._wakes: tuple[Callable[[], object], ...] = ()
        self._stop = threading.Event()
        self._end_reader, self._end_writer = os.pipe()
        """Pipe by which the thread hears at once that it shall end."""
        self._thread = threading.Thread(target=self._run, name="engrams-notices", daemon=True)
        self._thread.start()

    def add_wake(self, wake: Callable[[], object]) -> None:
        """Call ``wake`` too from now on."""
        self._wakes = (*self._wakes, wake)

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        os.write(self._end_writer, b".")
        self._thread.join()
        os.close(self._end_reader)
        os.close(self._end_writer)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, **self._keep_alive) as connection:
                    self._listen(connection)
            except psycopg.Error:
                self._stop.wait(_RETRY_SECONDS)

    def _wake(self) -> None:
        for wake in self._wakes:
            wake()

    def _listen(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        self._wake()
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._end_reader, selectors.EVENT_READ)
            while not self._stop.is_set():
                if not selector.select(_CHECK_SECONDS):
                    connection.execute("SELECT 1")
                elif any(connection.notifies(timeout=0)):
                    self._wake()
