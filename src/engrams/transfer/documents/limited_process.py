"""A process of its own, which can use little memory, time and no files, does work on others' bytes.

A file that somebody sent may be made to harm its reader. ``LimitedProcess.ask`` hands the bytes over a
pipe and gets an answer back; ``serve`` is what the process itself runs. It cannot open a file to
write, grows to so much memory at most, and is ended when it takes too long.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Timer
from typing import IO, Any, TypeAlias

from engrams.errors import EngramsError, ExtraError, InputError

_MOST_ANSWER = 512 << 20
"""Bytes of the longest answer that is read back."""
_LENGTH = struct.Struct(">Q")
_HARMFUL = "It takes more memory or time to read than any honest document."
_HARMFUL_HINT = "Save it anew with the program it was made with, or split it."

Work: TypeAlias = Callable[[bytes, str], dict[str, Any]]
"""Work on bytes that have a label, such as the name of their file."""


class LimitedProcess:
    """A process that works on one piece after the other; the first one starts it."""

    def __init__(self, module: str, seconds: float) -> None:
        """Set the process up. ``module``: its function ``serve`` is run. ``seconds``: for one piece."""
        self._code = f"from {module} import serve; serve()"
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def ask(self, data: bytes, label: str) -> dict[str, Any]:
        """Let the process work on bytes. InputError, ExtraError: the reason why it cannot."""
        with self._lock:
            process = self._process or self._start()
            timer = Timer(self._seconds, process.kill)
            timer.start()
            try:
                answer = _ask(process, data, label)
            except (OSError, EOFError, ValueError, struct.error):
                self._end()
                raise InputError(_HARMFUL, hint=_HARMFUL_HINT) from None
            finally:
                timer.cancel()
        error = answer.get("error")
        if error:
            kind = ExtraError if answer["is_extra"] else InputError
            raise kind(error, hint=answer["hint"])
        return answer

    def kill(self) -> None:
        """End the work that is being done, so that ``close`` need not wait."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a folder with the documents must not give it modules.
        self._process = subprocess.Popen(  # noqa: S603 - this same Python
            [sys.executable, "-P", "-c", self._code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def _end(self) -> None:
        process = self._process
        self._process = None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.wait()


def serve(work: Work, memory: int) -> None:
    """Work on what comes over standard input until it ends. ``memory``: bytes it may use at most."""
    # Ctrl-C is for the process that asks: it ends the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_resources(memory)
    # Text that a library prints must not get among the answers.
    with os.fdopen(os.dup(1), "wb") as answers, suppress(EOFError, BrokenPipeError):
        os.dup2(2, 1)
        while True:
            label = _receive(sys.stdin.buffer).decode()
            answer = _answer(work, _receive(sys.stdin.buffer), label)
            _send(answers, json.dumps(answer).encode())


def _limit_resources(memory: int) -> None:
    """Take from this process what no reader needs: memory without end, and files to write."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for limit, value in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def _answer(work: Work, data: bytes, label: str) -> dict[str, Any]:
    try:
        return work(data, label)
    except EngramsError as problem:
        return {
            "error": problem.message,
            "hint": problem.hint,
            "is_extra": isinstance(problem, ExtraError),
        }
    except (MemoryError, RecursionError):
        return {"error": _HARMFUL, "hint": _HARMFUL_HINT, "is_extra": False}
    except Exception as problem:  # noqa: BLE001 - a reader met what it cannot know; the file is refused
        return {
            "error": f"The file is damaged: {type(problem).__name__}.",
            "hint": "Get a fresh copy of it.",
            "is_extra": False,
        }


def _ask(process: subprocess.Popen[bytes], data: bytes, label: str) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    _send(process.stdin, label.encode("utf-8", "replace"))
    _send(process.stdin, data)
    answer: dict[str, Any] = json.loads(_receive(process.stdout))
    return answer


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Read one message. EOFError: the other side has ended. ValueError: it is too long."""
    length = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))[0]
    if length > _MOST_ANSWER:
        raise ValueError(length)
    return _read_exactly(pipe, length)


def _read_exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data
