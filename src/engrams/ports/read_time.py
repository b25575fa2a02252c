"""Time that a read has in all: ``limit_read_time`` sets it, ``read_seconds_left`` asks for the rest.

Somebody waits for a read at the proxy. What may be slow in it, a remote embedder or a reranker, takes
what is left (``limit_model_seconds``), and the read goes on without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RESERVED_SECONDS = 0.25
_RESERVED_SHARE = 0.3
"""Time of a read that no model gets, so that memory is found and rendered without it: the smaller of
both."""

_deadline: ContextVar[float | None] = ContextVar("engrams_read_deadline", default=None)


@contextmanager
def limit_read_time(deadline: float) -> Iterator[None]:
    """Let reads in this block end by ``deadline`` (``time.monotonic``)."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def read_seconds_left() -> float | None:
    """Return the seconds that are left to this read, 0 at least; None: nobody set a time."""
    deadline = _deadline.get()
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)


def limit_model_seconds(seconds: float) -> float:
    """Limit the seconds that a read waits for a model to what the rest of the read can spare."""
    seconds_left = read_seconds_left()
    if seconds_left is None:
        return seconds
    reserved_seconds = min(_RESERVED_SECONDS, seconds_left * _RESERVED_SHARE)
    return min(seconds, seconds_left - reserved_seconds)
