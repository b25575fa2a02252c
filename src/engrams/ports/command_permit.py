"""Permit of one request about memory: it is carried out or given up, and never both.

Somebody waits for the request at the proxy, and is told one of the two. ``hold_permit`` sets the permit
of what runs in a block, which calls ``begin_change`` before it changes anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from engrams.errors import RefusedError


class CommandPermit:
    """Decides between a thread that carries a request out and a caller that waits no longer.

    Whoever comes first holds the permit for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_begun = False
        self._is_given_up = False

    def begin(self) -> None:
        """Take the permit before the first change. RefusedError: the request was given up."""
        with self._lock:
            if self._is_given_up:
                raise RefusedError(
                    "Nobody waits for this request about memory any more. Nothing was changed.",
                    hint="Ask again.",
                )
            self._is_begun = True

    def give_up(self) -> bool:
        """Stop waiting. True: nothing was changed, and nothing will be; False: it has begun."""
        with self._lock:
            self._is_given_up = not self._is_begun
            return self._is_given_up


_permit: ContextVar[CommandPermit | None] = ContextVar("engrams_command_permit", default=None)


@contextmanager
def hold_permit(permit: CommandPermit) -> Iterator[None]:
    """Let what runs in this block change memory with this permit only."""
    token = _permit.set(permit)
    try:
        yield
    finally:
        _permit.reset(token)


def begin_change() -> None:
    """Take the permit, if there is one. RefusedError: the caller gave the request up."""
    permit = _permit.get()
    if permit is not None:
        permit.begin()
