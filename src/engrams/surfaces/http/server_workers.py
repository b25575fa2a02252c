"""Several server processes on one port: their parent, and how each begins."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from select import select
from typing import IO, Any

from engrams import encryption, errors
from engrams.errors import EngramsError, SettingsError
from engrams.frozen_data import dataclass
from engrams.settings import Settings

MODULE = "engrams.surfaces.http.worker_process"
METRICS = "PROMETHEUS_MULTIPROC_DIR"
_LOOK_SECONDS = 0.1
_AT_ONCE = 64
_STEADY_SECONDS = 10.0
"""A worker that lived shorter than this is started again after a pause, which doubles."""
_LONGEST_PAUSE = 30.0
_PATIENCE_SECONDS = 60.0
"""Time for workers to end by themselves, beyond that for their sessions."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Orders for a worker process at its start.

    ``given``: the settings before the server took its upstream as memory's model. ``folder``: for
    the links between workers. ``passphrases``: typed at the parent's terminal.
    """

    settings: Settings
    given: Settings
    number: int
    folder: Path
    passphrases: Mapping[str, str]


@dataclass(slots=True)
class _WorkerProcess:
    """Running worker, and when the next may be started in its place."""

    number: int
    process: subprocess.Popen[bytes]
    report: IO[bytes]
    hand: socket.socket
    began: float = field(default_factory=time.monotonic)
    pause: float = 0.0
    ended: float = 0.0

    def close(self) -> None:
        self.report.close()
        self.hand.close()
        if self.process.stdin is not None:
            self.process.stdin.close()


class WorkerSupervisor:
    """Parent of worker processes, which it hands connections in turn.

    One that dies is started again. Were each to accept for itself, one that is idle would take most
    of them.
    """

    def __init__(
        self,
        settings: Settings,
        given: Settings,
        listener: socket.socket,
        passphrases: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._given = given
        self._listener = listener
        self._passphrases = passphrases
        self._folder = Path(
            tempfile.mkdtemp(prefix="engrams-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
        )
        self._workers: list[_WorkerProcess] = []
        self._signals = self._turn = 0

    def run(self, greet: Callable[[list[int]], None]) -> None:
        """Serve until a signal comes.

        ``greet`` gets the process ids when all workers serve. EngramsError: a worker cannot begin,
        for the reason that it gave.
        """
        before = {
            number: signal.signal(number, self._count_signal)
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            for number in range(self._settings.serve.workers):
                # One after another: the first one makes, repairs or migrates the store.
                self._workers.append(self._start(number))
                _await_ready(self._workers[-1])
                if self._signals:
                    return
            greet([worker.process.pid for worker in self._workers])
            self._listener.setblocking(False)
            while not self._signals:
                if select([self._listener], [], [], _LOOK_SECONDS)[0]:
                    self._hand_out()
                for worker in self._workers:
                    self._look_after(worker)
        finally:
            self._end_all()
            shutil.rmtree(self._folder, ignore_errors=True)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _count_signal(self, *_: object) -> None:
        self._signals += 1

    def _hand_out(self) -> None:
        """Give each connection that waits to the next worker that takes one."""
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:
                time.sleep(_LOOK_SECONDS)  # as many connections as this process may have
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for _ in self._workers:
                    self._turn = (self._turn + 1) % len(self._workers)
                    worker = self._workers[self._turn]
                    with suppress(OSError):
                        if not worker.ended and socket.send_fds(
                            worker.hand, [b"c"], [connection.fileno()]
                        ):
                            break

    def _start(self, number: int) -> _WorkerProcess:
        reading, writing = os.pipe()
        hand, taker = socket.socketpair()
        hand.setblocking(False)
        metrics = self._folder / "metrics"
        metrics.mkdir(exist_ok=True)
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", MODULE, str(taker.fileno()), str(writing)],
            stdin=subprocess.PIPE,
            pass_fds=(taker.fileno(), writing),
            env={**os.environ, METRICS: str(metrics)},
        )
        os.close(writing)
        taker.close()
        plan = WorkerPlan(
            settings=self._settings,
            given=self._given,
            number=number,
            folder=self._folder,
            passphrases=self._passphrases,
        )
        assert process.stdin is not None
        try:
            pickle.dump(plan, process.stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone already, which is noticed soon
        return _WorkerProcess(number, process, os.fdopen(reading, "rb"), hand)

    def _look_after(self, worker: _WorkerProcess) -> None:
        """Start a worker anew that has ended."""
        code = worker.process.poll()
        if code is None or self._signals:
            return
        now = time.monotonic()
        if not worker.ended:
            worker.ended = now
            worker.pause = (
                0.0
                if now - worker.began > _STEADY_SECONDS
                else min(max(1.0, 2 * worker.pause), _LONGEST_PAUSE)
            )
            self._log_end(worker, code)
        if now - worker.ended >= worker.pause:
            worker.close()
            fresh = self._start(worker.number)
            fresh.pause = worker.pause
            self._workers[worker.number] = fresh

    def _log_end(self, worker: _WorkerProcess, code: int) -> None:
        told: dict[str, Any] = {
            "event": "worker ended",
            "worker": worker.number + 1,
            "pid": worker.process.pid,
            "code": code,
        }
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        text = (
            f"engrams: worker {worker.number + 1} (process {worker.process.pid}) {how}; it is"
            " started again"
        )
        sys.stderr.write(f"{json.dumps(told) if self._settings.serve.log == 'json' else text}\n")
        sys.stderr.flush()

    def _end_all(self) -> None:
        """End all workers; a second signal, or a long time, kills them."""
        alive = [worker for worker in self._workers if worker.process.poll() is None]
        for worker in alive:
            worker.process.terminate()
        until = time.monotonic() + _PATIENCE_SECONDS + self._settings.sessions.shutdown_seconds
        asked = self._signals
        while (
            any(worker.process.poll() is None for worker in alive)
            and time.monotonic() < until
            and self._signals <= max(asked, 1)
        ):
            time.sleep(_LOOK_SECONDS)
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.process.wait()
            worker.close()


def require_shareable(settings: Settings) -> None:
    """Refuse several workers where they cannot serve one memory. SettingsError: why."""
    if os.name == "nt":
        raise SettingsError(
            "serve.workers is for Linux and macOS: on Windows processes do not share a port.",
            hint="Leave it at 1.",
        )
    if settings.is_volatile:
        raise SettingsError(
            "This memory is in one process only, and several workers need one that they share.",
            hint="Leave it at 1.",
        )


def unlock(settings: Settings) -> dict[str, str]:
    """Open an encrypted home; returns what was typed for it."""
    url = settings.store.url
    if "://" not in url:
        encryption.unlock_home(
            settings.home,
            settings.encryption,
            Path(url) if url else settings.home.expanduser() / "memory.db",
        )
    return encryption.typed_passphrases()


def _await_ready(worker: _WorkerProcess) -> None:
    """Wait until a worker serves. EngramsError: what it said where it cannot."""
    line = worker.report.readline()
    if not line:
        code = worker.process.wait()
        raise EngramsError(
            f"A worker process did not start (exit code {code}).",
            hint="What it wrote before says why.",
        )
    told = json.loads(line)
    if told["error"]:
        worker.process.wait()
        raise getattr(errors, told["error"])(told["message"], hint=told["hint"])
