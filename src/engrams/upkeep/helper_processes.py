"""Pool of helper processes, which compute for the process that writes.

``HelperProcesses.map_ahead`` is the one way in.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Lock, Timer
from typing import TYPE_CHECKING

from engrams.ports.read_ahead import Input, Output, Tag
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    from concurrent.futures import Future

    from engrams.upkeep.helper_process import HelperProcess

_MANY_MESSAGES = 400
"""Messages, of pieces of work one after the other, for which helpers are started."""
_FEW_MESSAGES = 20
"""Messages of a piece of work for which a helper that runs is asked."""
_WAITING_PER_HELPER = 8
"""Answers that may wait for their turn, for each helper."""
_IDLE_SECONDS = 20.0
"""Seconds without work after which helpers end."""
_ANSWER_SECONDS = 60.0
"""Seconds to wait for an answer."""


def count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HelperProcesses:
    """Helpers beside this process, started by the first large work. Thread safe.

    They know no store: only pure functions of the inputs that they are sent run there, and this
    process computes itself whatever a helper does not answer. So nothing but time depends on them.
    """

    def __init__(self, number: int = 1) -> None:
        """Set up the helpers.

        ``number``: processes that work on one thing, this one included; 1: no helper; 0: as many as
        there are cores.
        """
        self.number = (number or count_cores()) - 1
        """Helpers at most."""
        self._helpers: list[HelperProcess] = []
        self._lock = Lock()
        self._owner = os.getpid()
        self._used = time.monotonic()
        self._recent = 0
        register_cache(self)

    def map_ahead(
        self,
        call: Callable[[Input], Output],
        inputs: Iterable[tuple[Tag, Input]],
        size: int,
        *,
        apart: bool = False,
    ) -> Iterator[tuple[Tag, Output]]:
        """Yield the answers in order, computed by whoever has time: see ``ReadAhead``."""
        helpers = self._find(size)
        if not helpers:
            yield from ((tag, call(value)) for tag, value in inputs)
            return
        from engrams.upkeep.helper_process import begin

        waiting: deque[tuple[Tag, Input, Future[Output]]] = deque()
        for tag, value in inputs:
            waiting.append((tag, value, begin(helpers, call, value, apart=apart)))
            # In order, as far as answers are there; and the first one, if too many wait for it.
            while waiting and (
                waiting[0][2].done() or len(waiting) > _WAITING_PER_HELPER * len(helpers)
            ):
                yield self._take(call, *waiting.popleft())
        while waiting:
            yield self._take(call, *waiting.popleft())

    def close(self) -> None:
        """End the helpers; later work starts new ones."""
        with self._lock:
            helpers = self._helpers
            self._helpers = []
        for helper in helpers if self._owner == os.getpid() else ():
            helper.stop()

    def cache_clear(self) -> None:
        """End the helpers, which remember texts."""
        self.close()

    def _find(self, size: int) -> list[HelperProcess]:
        """Return the helpers for work of this size, started where it pays."""
        if not self.number or size < _FEW_MESSAGES or not (self._helpers or self._is_much(size)):
            return []
        from engrams.upkeep.helper_process import HelperProcess

        with self._lock, suppress(OSError):
            if self._owner != os.getpid():
                self._owner = os.getpid()  # a forked child: these are its parent's
                self._helpers = []
            if not self._helpers:
                self._end_after(_IDLE_SECONDS)
            while len(self._helpers) < self.number:
                self._helpers.append(HelperProcess())
        self._used = time.monotonic()
        return [*self._helpers]

    def _is_much(self, size: int) -> bool:
        """True where work, with what came right before, pays for helpers."""
        now = time.monotonic()
        self._recent = size + (self._recent if now - self._used < _IDLE_SECONDS else 0)
        self._used = now
        return self._recent >= _MANY_MESSAGES

    def _end_after(self, seconds: float) -> None:
        """End the helpers once nobody has used them for a while."""
        timer = Timer(seconds, self._end_if_idle)
        timer.daemon = True
        timer.start()

    def _end_if_idle(self) -> None:
        idle_seconds_left = self._used + _IDLE_SECONDS - time.monotonic()
        if idle_seconds_left > 0:
            self._end_after(idle_seconds_left)
        else:
            self.close()

    def _take(
        self, call: Callable[[Input], Output], tag: Tag, value: Input, future: Future[Output]
    ) -> tuple[Tag, Output]:
        """Wait for an answer; compute it here if the helper ended, or takes too long."""
        self._used = time.monotonic()
        try:
            return tag, future.result(_ANSWER_SECONDS)
        except EOFError:
            return tag, call(value)
        except TimeoutError:
            self.close()
            return tag, call(value)
