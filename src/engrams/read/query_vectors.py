"""Vectors of queries within the time of a read; ``QueryVectors`` is the entry.

A read never fails, and never waits long, because of its embedder: one that is late or down means a
search by words. Its answer is not lost: it is there when the same query comes again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import Embedder, EmbedderCard
from engrams.ports.read_time import limit_model_seconds
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    from engrams.ports.models import Floats

_LOG = logging.getLogger(__name__)

DEFAULT_SECONDS = 5.0
_LATE_IN_A_ROW = 2
"""Late answers in a row after which an embedder is no longer waited for."""
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 60.0
"""Seconds until an embedder that failed is tried again, in the background; doubled each time."""
_MAX_CALLS = 64
"""Queries whose calls or vectors are remembered."""

VectorGap: TypeAlias = Literal["", "embedder_late", "embedder_down"]


@dataclass(frozen=True, slots=True)
class QueryVector:
    """Vector of a query, or the reason why there is none."""

    vector: Floats | None = None
    """None: the query has no known word, or the embedder did not answer."""
    gap: VectorGap = ""
    """Why the embedder did not answer. Empty: it did, or there is none."""
    problem: str = ""
    """The same in words."""


@dataclass(slots=True)
class _CallBreaker:
    """State that says whether an embedder is worth waiting for."""

    late_in_a_row: int = 0
    gap: VectorGap = ""
    """Empty: it is waited for."""
    problem: str = ""
    pause: float = _FIRST_PAUSE
    retry_at: float = field(default=0.0)
    """Time (monotonic) of the next try."""

    def close(self) -> None:
        """Wait for the embedder again."""
        self.late_in_a_row = 0
        self.gap = ""
        self.pause = _FIRST_PAUSE

    def open(self, gap: VectorGap, problem: str) -> None:
        """Wait no longer, until a try in the background succeeds in time."""
        if self.gap:
            self.pause = min(2 * self.pause, _LONGEST_PAUSE)
        self.gap = gap
        self.problem = problem
        self.retry_at = time.monotonic() + self.pause


class QueryVectors:
    """Embedder of queries with a limit of time and a breaker; threads share it."""

    def __init__(self, embedder: Embedder, seconds: float = DEFAULT_SECONDS) -> None:
        """Set up. ``seconds``: the longest wait where a read sets no time of its own."""
        self._embedder = embedder
        self._seconds = seconds
        self._lock = threading.Lock()
        self._calls: OrderedDict[str, Future[Floats]] = OrderedDict()
        self._breaker = _CallBreaker()
        self._is_trying = False
        """A try in the background runs."""
        register_cache(self)

    @property
    def card(self) -> EmbedderCard:
        """Facts about the model."""
        return self._embedder.card

    def embed(self, text: str) -> QueryVector:
        """Embed a query within the time of the read; raises nothing."""
        card = self._embedder.card
        if not card.dimension or not text.strip():
            return QueryVector()
        if card.inline:
            return self._embed_inline(text)
        seconds = limit_model_seconds(self._seconds)
        with self._lock:
            call = self._calls.get(text)
            gap = self._breaker.gap
            problem = self._breaker.problem
        if call is not None and call.done():
            return self._take(text, call)
        if gap:
            self._try_in_background(text, seconds)
            return QueryVector(gap=gap, problem=problem)
        if call is None:
            call = self._start(text, lambda: None)
        try:
            call.exception(seconds)
        except FutureTimeoutError:
            return self._note_late(seconds)
        return self._take(text, call)

    def cache_clear(self) -> None:
        """Forget the queries."""
        with self._lock:
            self._calls.clear()

    def _embed_inline(self, text: str) -> QueryVector:
        """Embed by a model that is faster than a thread."""
        call: Future[Floats] = Future()
        self._run(text, call)
        return _read_call(call)

    def _start(self, text: str, when_done: Callable[[], None]) -> Future[Floats]:
        """Embed in a thread, which never keeps the process from ending."""
        call: Future[Floats] = Future()
        with self._lock:
            self._calls[text] = call
            while len(self._calls) > _MAX_CALLS:
                self._calls.popitem(last=False)

        def run() -> None:
            self._run(text, call)
            when_done()

        threading.Thread(target=run, name="engrams-query", daemon=True).start()
        return call

    def _run(self, text: str, call: Future[Floats]) -> None:
        try:
            call.set_result(self._embedder.embed([text], "query")[0])
        except Exception as problem:  # noqa: BLE001 - an embedder may be anybody's, and a read never fails because of it
            if not isinstance(problem, EngramsError):
                _LOG.warning("the embedder failed", exc_info=True)
            call.set_exception(problem)

    def _take(self, text: str, call: Future[Floats]) -> QueryVector:
        """Read a finished call, and draw the consequences."""
        answer = _read_call(call)
        with self._lock:
            if answer.gap:
                self._calls.pop(text, None)
                self._breaker.open(answer.gap, answer.problem)
            elif not self._breaker.gap:
                self._breaker.close()
        return answer

    def _note_late(self, seconds: float) -> QueryVector:
        problem = f"it took longer than {seconds:.2g} seconds"
        with self._lock:
            self._breaker.late_in_a_row += 1
            if self._breaker.late_in_a_row >= _LATE_IN_A_ROW:
                self._breaker.open("embedder_late", problem)
        return QueryVector(gap="embedder_late", problem=problem)

    def _try_in_background(self, text: str, seconds: float) -> None:
        """Ask an embedder again that failed or was late, where its pause is over."""
        with self._lock:
            if self._is_trying or time.monotonic() < self._breaker.retry_at:
                return
            self._is_trying = True
        start = time.monotonic()

        def judge() -> None:
            took = time.monotonic() - start
            with self._lock:
                self._is_trying = False
                call = self._calls.get(text)
                answer = QueryVector() if call is None else _read_call(call)
                if answer.gap:
                    self._calls.pop(text, None)
                    self._breaker.open(answer.gap, answer.problem)
                elif took > seconds:
                    self._breaker.open("embedder_late", f"it took {took:.2g} seconds")
                else:
                    self._breaker.close()

        self._start(text, judge)


def _read_call(call: Future[Floats]) -> QueryVector:
    """Turn the end of a call into a vector or a reason."""
    error = call.exception()
    if error is None:
        vector = call.result()
        return QueryVector(vector if vector.any() else None)
    message = error.message if isinstance(error, EngramsError) else type(error).__name__
    return QueryVector(gap="embedder_down", problem=message)
