"""Tracker of uses: a queue that searches fill, and a thread that writes it.

A search must not wait for a write, and a count may be lost: uses are queued, gathered for half a
second and written at once, and the oldest are dropped where too many wait.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from engrams.core import Record, Scope, SearchResult
from engrams.errors import EngramsError
from engrams.ports import Clock, Embedder, Store
from engrams.settings import Settings
from engrams.upkeep.usage.search_usage import SearchUsageEvent
from engrams.upkeep.usage.usage_learning import UsageLearner

RecallListener: TypeAlias = Callable[[Scope, Sequence[str]], None]
"""Called with the ids that a search selected."""

_log = logging.getLogger(__name__)
_GATHER_SECONDS = 0.5
"""Seconds in which uses are gathered into one write."""
_REST_SECONDS = 5.0
"""Pause after a write: each commit voids what the processes of this memory keep of their reads.

None where tiers wait for it.
"""
_HURRY_AT = 500
"""Waiting uses that end the pause."""
_MAX_WAITING = 1000
"""Uses queued at most; the oldest are dropped, as counts are no memories."""
_JOIN_SECONDS = 10


class MemoryUsageTracker:
    """Gathers uses and writes them in the background. Thread safe."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        on_recall: RecallListener | None = None,
    ) -> None:
        """Set up the tracker. ``on_recall``: called with the ids that each search selected."""
        self._on_recall = on_recall
        self._store = store
        self._clock = clock
        self._settings = settings
        self._learner = UsageLearner(store, embedder, settings)
        self._waiting: deque[SearchUsageEvent] = deque(maxlen=_MAX_WAITING)
        # Guards the queue and the thread; the second lock is held over a whole write.
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def note_search(self, result: SearchResult, scope: Scope, session: str = "") -> None:
        """Queue the use of a search; returns at once."""
        section = self._settings.usage
        use = SearchUsageEvent.from_search(result, scope, self._clock(), session)
        if not section.enabled or not self._settings.enabled:
            return
        if not use.hits and not (use.gap and section.gaps):
            return
        with self._lock:
            self._waiting.append(use)
            if len(self._waiting) >= _HURRY_AT:
                self._hurry.set()
            if self._thread is None and self._settings.jobs.workers and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run_writer, name="engrams-usage", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def record_feedback(self, records: Sequence[Record], owner: Scope, helpful: bool) -> None:
        """Record whether memories helped; helpful ones are linked with each other."""
        at = self._clock()
        with self._write_lock:
            self._store.commit(self._learner.build_feedback(records, owner, helpful, at))

    def flush(self) -> None:
        """Write queued uses now; failures are logged only."""
        with self._write_lock:
            with self._lock:
                uses = list(self._waiting)
                self._waiting.clear()
            for owner in dict.fromkeys(use.scope.owner for use in uses):
                self._write_uses(owner, [use for use in uses if use.scope.owner == owner])

    def _write_uses(self, owner: Scope, uses: Sequence[SearchUsageEvent]) -> None:
        """Write one owner's uses; another owner's must not suffer from a failure."""
        try:
            batch = self._learner.build_batch(owner, uses)
            if batch is not None:
                self._store.commit(batch)
            if self._on_recall is not None:
                for use in uses:
                    self._on_recall(use.scope, use.hits)
        except EngramsError as problem:
            _log.warning("uses were not counted: %s", problem.message)
        except Exception:  # noqa: BLE001 - the edge of the flow: counting must end neither its thread nor the caller's close
            _log.exception("uses were not counted")

    def close(self) -> None:
        """Stop the thread, and write what is queued."""
        self._stop.set()
        self._wake.set()
        self._hurry.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout=_JOIN_SECONDS)
        self.flush()

    def _run_writer(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._stop.wait(_GATHER_SECONDS)
            self._wake.clear()
            self._hurry.clear()
            self.flush()
            # Once more for what came during the write, so that the pause does not delay it.
            self.flush()
            if self._on_recall is None and not self._stop.is_set():
                self._hurry.wait(_REST_SECONDS)
