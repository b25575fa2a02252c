"""One helper process: takes work over a pipe and answers in order."""

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
_QUEUED = 2
"""Pieces of work of a helper for which others have time too: one in hand, and the next."""
_GRACE = 2.0
"""Seconds that it has to end by itself."""


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
        self._asked: deque[Future[Any]] = deque()
        self._lock = Lock()
        self._lost = False
        self._has_answered = False
        # A pipe holds less than the work that waits: whoever asks goes on meanwhile.
        self._work: SimpleQueue[bytes] = SimpleQueue()
        self._writing = Thread(target=self._write, name="engrams-helper-work", daemon=True)
        self._writing.start()
        Thread(target=self._read, name="engrams-helper", daemon=True).start()

    @property
    def load(self) -> int:
        """Number of pieces of work that it has not answered."""
        return len(self._asked)

    def has_room(self, *, apart: bool) -> bool:
        """True where it lives and may have more work.

        ``apart``: no other process should do it, unless this one still starts.
        """
        return not self._lost and (len(self._asked) < _QUEUED or (apart and self._has_answered))

    def ask(self, work: bytes) -> Future[Any]:
        """Hand over pickled work; EOFError: the helper has ended."""
        future: Future[Any] = Future()
        with self._lock:
            self._asked.append(future)
            self._work.put(work)
        if self._lost:
            self._lose()
        return future

    def stop(self) -> None:
        """End it: at once where it does nothing, else by force."""
        pipe = self._process.stdin
        assert pipe is not None
        if self._asked:
            self._process.kill()
        with self._lock:
            self._lost = True
            self._work.put(b"")
        self._writing.join(_GRACE)
        with suppress(OSError):
            pipe.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError, ValueError):
            while work := self._work.get():
                pipe.write(work)
                pipe.flush()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe, suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                answer = pickle.load(pipe)  # noqa: S301 - of our own process, over a pipe that nobody else has
                self._has_answered = True
                self._asked.popleft().set_result(answer)
        self._lose()

    def _lose(self) -> None:
        self._lost = True
        while self._asked:
            with suppress(IndexError):
                self._asked.popleft().set_exception(EOFError("The helper ended."))


def begin(
    helpers: list[HelperProcess], call: Callable[[Input], Output], asked: Input, *, apart: bool
) -> Future[Output]:
    """Hand work to the idlest helper, or do it here."""
    free = min(
        (helper for helper in helpers if helper.has_room(apart=apart)),
        key=lambda helper: helper.load,
        default=None,
    )
    if free is not None:
        with suppress(pickle.PicklingError, TypeError, AttributeError):
            return free.ask(pickle.dumps((call, asked), pickle.HIGHEST_PROTOCOL))
    done: Future[Output] = Future()
    done.set_result(call(asked))
    return done


def serve() -> None:
    """Output work from standard input until it ends."""
    # Ctrl-C is for the process that writes: it ends the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a library prints must not get among the answers.
    with os.fdopen(os.dup(1), "wb") as answers, suppress(EOFError, BrokenPipeError):
        os.dup2(2, 1)
        while True:
            call, asked = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the process that started this one
            pickle.dump(call(asked), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
