"""Retry calls of models whose failures may pass."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

from engrams.errors import ModelError

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries and bounds of the waits before them.

    The n-th wait (from 0) is between half and all of ``first_wait`` * 2^n seconds, at most
    ``max_wait``, and never shorter than the server asked for.
    """

    retries: int = 3
    """Calls after the first one."""
    first_wait: float = 0.5
    max_wait: float = 30.0

    def wait_seconds(self, attempt: int, problem: ModelError) -> float:
        """Return the seconds to wait after the failed ``attempt`` (0, 1, …)."""
        longest = min(self.max_wait, self.first_wait * 2.0 ** min(attempt, 30))
        # Spread, so that workers that failed together do not come back together.
        return max(problem.retry_after, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret depends on it


def with_retries(
    call: Callable[[], _Result], policy: RetryPolicy, deadline: float, closed: Event
) -> _Result:
    """Repeat ``call`` while its ModelError is worth a wait.

    The error is raised when it is permanent, after ``policy.retries`` repetitions, once ``closed``
    is set, or at once where the next wait would pass ``deadline`` (``time.monotonic``). Setting
    ``closed`` ends a wait.
    """
    attempt = 0
    while True:
        try:
            return call()
        except ModelError as problem:
            wait = policy.wait_seconds(attempt, problem)
            if (
                not problem.retryable
                or attempt >= policy.retries
                or time.monotonic() + wait >= deadline
                or closed.is_set()
            ):
                raise
            attempt += 1
            closed.wait(wait)
