"""A call repeated while waiting can help."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from engrams.errors import ModelError
from engrams.models.retry import Retry

_Result = TypeVar("_Result")


def patiently(call: Callable[[float], _Result], retry: Retry, seconds: float, closed: Event) -> _Result:
    """``call(seconds left)`` until it succeeds, fails for good, has failed ``retry.tries`` + 1 times or time is up.

    Waits at least as long as the server asked for; where that is longer than the time left, it raises at once.
    """
    deadline = time.monotonic() + seconds
    attempt = 0
    while True:
        try:
            return call(max(deadline - time.monotonic(), 0.001))
        except ModelError as problem:
            wait = retry.wait(attempt, problem)
            if not problem.retryable or attempt >= retry.tries or time.monotonic() + wait >= deadline or closed.is_set():
                raise
            attempt += 1
            closed.wait(wait)
