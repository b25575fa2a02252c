"""Time that a read has in all: ``limit_read_time`` sets it, ``read_seconds_left`` asks for the rest.

Somebody waits for a read at the proxy. What may be slow in it, a remote embedder or a reranker, takes
what is left, and the read goes on without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
