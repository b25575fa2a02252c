"""Documents are read in a process of their own, which can use little memory, time and no files.

A file that somebody sent may be made to harm its reader. ``DocumentReadingProcess.read`` hands the
bytes over a pipe and gets the text back; ``serve`` is what the process itself runs. It cannot open a
file to write, grows to ``_MOST_MEMORY`` at most, and is ended when it takes too long.
``read_ahead`` lets it read the next document while the caller stores this one.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Lock, Timer
from types import TracebackType
from typing import IO, Any

from engrams.errors import EngramsError, ExtraError, InputError
from engrams.transfer.documents.document_readers import read_document
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

SECONDS = 60.0
"""Longest time that one document may take."""
MOST_BYTES = 100 << 20
"""Bytes of the largest document."""
_MOST_MEMORY = 1 << 30
_MOST_ANSWER = 512 << 20
"""Bytes of the longest answer that is read back."""
_SERVE = "from engrams.transfer.documents.reading_process import serve; serve()"
_LENGTH = struct.Struct(">Q")
_HARMFUL = "It takes more memory or time to read than any honest document."
_HARMFUL_HINT = "Save it anew with the program it was made with, or split it."


@dataclass(frozen=True, slots=True)
class _ReadingAhead:
    """A document that is read before it is asked for."""

    data: bytes
    name: str
    future: Future[ReadDocument]


class DocumentReadingProcess:
    """A process that reads documents one after the other; the first one starts it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """Set the process up. ``seconds``: longest time of one document."""
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._executor = ThreadPoolExecutor(1, "engrams-reading")
        self._ahead: _ReadingAhead | None = None

    def __enter__(self) -> DocumentReadingProcess:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_ahead(self, data: bytes, name: str) -> None:
        """Begin to read a document, for the next ``read`` of it. Its errors are raised there."""
        self._ahead = _ReadingAhead(data, name, self._executor.submit(self._read, data, name))

    def read(self, data: bytes, name: str) -> ReadDocument:
        """Read a document. InputError: why it cannot be read, and what to do."""
        ahead = self._ahead
        if ahead is not None and ahead.data is data and ahead.name == name:
            self._ahead = None
            return ahead.future.result()
        return self._read(data, name)

    def _read(self, data: bytes, name: str) -> ReadDocument:
        if len(data) > MOST_BYTES:
            raise InputError(
                f"It has {len(data):,} bytes; {MOST_BYTES:,} is the most.",
                hint="Split it, and add the parts that you need.",
            )
        with self._lock:
            process = self._process or self._start()
            timer = Timer(self._seconds, process.kill)
            timer.start()
            try:
                answer = _ask(process, data, name)
            except (OSError, EOFError, ValueError, struct.error):
                self._end()
                raise InputError(_HARMFUL, hint=_HARMFUL_HINT) from None
            finally:
                timer.cancel()
        return _to_document(answer)

    def close(self) -> None:
        """End the process, with what it still reads."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        process = self._process
        if process is not None:
            process.kill()
        self._executor.shutdown()
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a folder with the documents must not give it modules.
        self._process = subprocess.Popen(  # noqa: S603 - this same Python
            [sys.executable, "-P", "-c", _SERVE],
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


def serve() -> None:
    """Read the documents of standard input until it ends."""
    # Ctrl-C is for the process that asks: it ends the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_resources()
    # Text that a library prints must not get among the answers.
    with os.fdopen(os.dup(1), "wb") as answers, suppress(EOFError, BrokenPipeError):
        os.dup2(2, 1)
        while True:
            name = _receive(sys.stdin.buffer).decode()
            answer = _answer(_receive(sys.stdin.buffer), name)
            _send(answers, json.dumps(answer).encode())


def _limit_resources() -> None:
    """Take from this process what no reader needs: memory without end, and files to write."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    limits = {
        resource.RLIMIT_AS: _MOST_MEMORY,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for limit, value in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def _answer(data: bytes, name: str) -> dict[str, Any]:
    try:
        return asdict(read_document(data, name))
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


def _ask(process: subprocess.Popen[bytes], data: bytes, name: str) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    _send(process.stdin, name.encode("utf-8", "replace"))
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


def _to_document(answer: dict[str, Any]) -> ReadDocument:
    error = answer.get("error")
    if error:
        kind = ExtraError if answer["is_extra"] else InputError
        raise kind(error, hint=answer["hint"])
    blocks = tuple(TextBlock(**block) for block in answer["blocks"])
    return ReadDocument(**{**answer, "blocks": blocks})
