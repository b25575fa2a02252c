"""One helper process: takes work over a pipe and answers in order.

``begin`` hands work over; ``serve`` is what the process itself runs.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from engrams.ports.read_ahead import Input, Output

_SERVE = "from engrams.upkeep.helper_process import serve; serve()"
_MAX_QUEUED = 2
"""Pieces of work of a helper for which others have time too: one in hand, and the next."""
_GRACE_SECONDS = 2.0
"""Seconds that a helper has to end by itself."""


class HelperProcess:
    """One helper: takes work over a pipe and answers in order.

    It ends with the pipe, and so with this process however that ends.
    """

    def __init__(self) -> None:
        # Not multiprocessing: it would run a caller's own program again to find its functions.
        self._process = subprocess.Popen(  # noqa: S603 - this same Python
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._unanswered: deque[Future[Any]] = deque()
        self._lock = Lock()
        self._has_ended = False
        self._has_answered = False
        # A pipe holds less than the work that waits: whoever asks goes on meanwhile.
        self._work: SimpleQueue[bytes] = SimpleQueue()
        self._writer = Thread(target=self._write_work, name="engrams-helper-work", daemon=True)
        self._writer.start()
        Thread(target=self._read_answers, name="engrams-helper", daemon=True).start()

    @property
    def load(self) -> int:
        """Number of pieces of work that it has not answered."""
        return len(self._unanswered)

    def has_room(self, *, apart: bool) -> bool:
        """True if it lives and may have more work.

        ``apart``: no other process should do it, unless this one still starts.
        """
        if self._has_ended:
            return False
        return len(self._unanswered) < _MAX_QUEUED or (apart and self._has_answered)

    def ask(self, work: bytes) -> Future[Any]:
        """Hand over pickled work. The answer raises EOFError if the helper has ended."""
        future: Future[Any] = Future()
        with self._lock:
            self._unanswered.append(future)
            self._work.put(work)
        # It may have ended between the two: nobody else would answer this future.
        if self._has_ended:
            self._fail_unanswered()
        return future

    def stop(self) -> None:
        """End it: at once if it has no work, else by force."""
        pipe = self._process.stdin
        assert pipe is not None
        if self._unanswered:
            self._process.kill()
        with self._lock:
            self._has_ended = True
            self._work.put(b"")
        self._writer.join(_GRACE_SECONDS)
        with suppress(OSError):
            pipe.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write_work(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError, ValueError):
            while work := self._work.get():
                pipe.write(work)
                pipe.flush()

    def _read_answers(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe, suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                answer = pickle.load(pipe)  # noqa: S301 - of our own process, over a pipe that nobody else has
                self._has_answered = True
                self._unanswered.popleft().set_result(answer)
        self._fail_unanswered()

    def _fail_unanswered(self) -> None:
        """Fail all work that an ended helper will not answer."""
        self._has_ended = True
        while self._unanswered:
            with suppress(IndexError):
                self._unanswered.popleft().set_exception(EOFError("The helper ended."))


def begin(
    helpers: list[HelperProcess], call: Callable[[Input], Output], value: Input, *, apart: bool
) -> Future[Output]:
    """Hand ``call(value)`` to the helper with the least work, or compute it here."""
    idlest = min(
        (helper for helper in helpers if helper.has_room(apart=apart)),
        key=lambda helper: helper.load,
        default=None,
    )
    if idlest is not None:
        with suppress(pickle.PicklingError, TypeError, AttributeError):
            return idlest.ask(pickle.dumps((call, value), pickle.HIGHEST_PROTOCOL))
    computed: Future[Output] = Future()
    computed.set_result(call(value))
    return computed


def serve() -> None:
    """Answer work from standard input until it ends."""
    # Ctrl-C is for the process that writes: it ends the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Text that a library prints must not get among the answers.
    with os.fdopen(os.dup(1), "wb") as answers, suppress(EOFError, BrokenPipeError):
        os.dup2(2, 1)
        while True:
            call, value = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the process that started this one
            pickle.dump(call(value), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
