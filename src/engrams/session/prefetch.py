"""Prefetch of contexts: computed in one turn, delivered in the next."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from queue import Empty, Full, Queue
from threading import Lock, Thread
from typing import Generic, TypeVar

from engrams.core.process_peers import ProcessPeers
from engrams.frozen_data import dataclass
from engrams.ports import Clock
from engrams.text.text_caches import register_cache

Result = TypeVar("Result")

_log = logging.getLogger(__name__)
_MAX_QUEUED = 16
"""Contexts that wait to be computed; more are not computed at all."""
_MAX_RESULTS = 10_000
"""Conversations with a result, at most; oldest evicted first."""
_JOIN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class _ReadyResult(Generic[Result]):
    value: Result
    at: datetime


class ContextPrefetcher(Generic[Result]):
    """One worker; results by conversation, delivered once while fresh. Thread safe."""

    def __init__(self, fresh: timedelta, clock: Clock, peers: ProcessPeers | None = None) -> None:
        self._fresh = fresh
        self._clock = clock
        self._lock = Lock()
        # Results, and the conversations that one is computed for now.
        self._ready = (peers or ProcessPeers()).table("pending", _MAX_RESULTS)
        self._working: set[str] = set()
        self._queue: Queue[tuple[str, Callable[[], Result | None]] | None] = Queue(_MAX_QUEUED)
        self._thread: Thread | None = None
        self._closed = False
        register_cache(self)

    def submit(self, session: str, work: Callable[[], Result | None]) -> bool:
        """Compute a result for this conversation's next turn.

        False: the last one is still computed, or the queue is full. None as a result delivers
        nothing; so does a failure, which is logged.
        """
        with self._lock:
            if self._closed or session in self._working:
                return False
            try:
                self._queue.put_nowait((session, work))
            except Full:
                return False
            self._working.add(session)
            if self._thread is None:
                self._thread = Thread(target=self._run_worker, name="engrams-pending", daemon=True)
                self._thread.start()
            return True

    def take(self, session: str) -> Result | None:
        """Remove and return this conversation's result; None where none is fresh."""
        ready: _ReadyResult[Result] | None = self._ready.pop(session)
        if ready is None or self._clock() - ready.at > self._fresh:
            return None
        return ready.value

    def drop(self, session: str) -> None:
        """Discard this conversation's result, as after a topic change."""
        self._ready.pop(session)

    def cache_clear(self) -> None:
        """Discard all results; they may hold purged memories."""
        self._ready.clear()

    def close(self) -> None:
        """Stop the worker; waiting work is discarded, running work not awaited."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._stop_worker()
            thread.join(timeout=_JOIN_SECONDS)

    def _stop_worker(self) -> None:
        """Put the end mark into the queue, in the place of waiting work where it is full."""
        while True:
            try:
                self._queue.put_nowait(None)
            except Full:
                try:
                    self._queue.get_nowait()
                except Empty:
                    continue
            else:
                return

    def _run_worker(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Run one queued item in its own frame, which releases the result."""
        item = self._queue.get()
        if item is None:
            return False
        session, work = item
        try:
            value = work()
        except Exception:  # noqa: BLE001 - the edge of the flow: a failure must be seen, and must not end what serves all conversations
            _log.exception("nothing is pending for this turn")
            value = None
        with self._lock:
            self._working.discard(session)
            if value is not None:
                self._ready.put(session, _ReadyResult(value, self._clock()))
        return True
