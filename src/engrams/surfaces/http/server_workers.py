"""Several server processes on one port: the parent that starts them and hands them connections.

`WorkerSupervisor.run` serves until a signal. The worker processes run `program.worker_process`.
"""

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
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import IO, Any

from engrams import encryption, errors
from engrams.errors import EngramsError
from engrams.settings import Settings
from engrams.surfaces.http.observers.metrics import MULTIPROCESS_FOLDER
from engrams.surfaces.http.server_functions import ServedHome

_LOOK_SECONDS = 0.1
"""Pause between two looks at connections and workers."""
_CONNECTIONS_AT_ONCE = 64
"""Connections that are handed out before the workers are looked after again."""
_STEADY_SECONDS = 10.0
"""A worker that lived shorter than this is started again after a pause, which doubles."""
_MAX_PAUSE_SECONDS = 30.0
_NEW_CONNECTION = b"c"
"""Byte that goes with each connection: a descriptor is not sent without data."""
_PATIENCE_SECONDS = 60.0
"""Time for workers to end by themselves, beyond that for their sessions."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Orders for a worker process at its start."""

    settings: Settings
    configured: Settings
    """Settings before the server took its upstream as memory's model."""

    number: int
    """Its place among the workers, from 0; that one does what only one process may do."""

    folder: Path
    """Folder of the sockets between workers."""

    passphrases: Mapping[str, str]
    """Passphrases that were typed at the parent's terminal."""


@dataclass(slots=True)
class _WorkerProcess:
    """Running worker, and when the next may be started in its place."""

    number: int
    process: subprocess.Popen[bytes]
    report: IO[bytes]
    """Pipe on which the worker says whether it serves."""

    handover: socket.socket
    """Socket over which the parent sends it connections."""

    started_at: float = field(default_factory=time.monotonic)
    pause: float = 0.0
    """Seconds between its end and the start of the next in its place."""

    ended_at: float = 0.0
    """When its end was noticed; 0: it runs. Both times are monotonic."""

    def close(self) -> None:
        self.report.close()
        self.handover.close()
        if self.process.stdin is not None:
            self.process.stdin.close()


class WorkerSupervisor:
    """Parent of worker processes, which it hands connections in turn.

    One that dies is started again. Were each to accept for itself, one that is idle would take most
    of them.
    """

    def __init__(
        self,
        home: ServedHome,
        listener: socket.socket,
        passphrases: Mapping[str, str],
    ) -> None:
        self._home = home
        self._settings = home.settings
        self._listener = listener
        self._passphrases = passphrases
        self._folder = Path(
            tempfile.mkdtemp(prefix="engrams-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
        )
        self._workers: list[_WorkerProcess] = []
        self._signals = 0
        self._last_worker = 0
        """Index of the worker that got the last connection."""

    def run(self, greet: Callable[[list[int]], None]) -> None:
        """Serve until a signal comes.

        ``greet`` gets the process ids when all workers serve. EngramsError: a worker cannot begin,
        for the reason that it gave.
        """
        handlers = {
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
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _count_signal(self, *_: object) -> None:
        self._signals += 1

    def _hand_out(self) -> None:
        """Give the connections that wait to the workers in turn."""
        for _ in range(_CONNECTIONS_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:
                time.sleep(_LOOK_SECONDS)  # as many connections as this process may have
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._hand_to_worker(connection)

    def _hand_to_worker(self, connection: socket.socket) -> None:
        """Give a connection to the next worker, in turn, that runs and whose socket is not full.

        If none takes it, the caller closes it.
        """
        for _ in self._workers:
            self._last_worker = (self._last_worker + 1) % len(self._workers)
            worker = self._workers[self._last_worker]
            if worker.ended_at:
                continue
            with suppress(OSError):
                if socket.send_fds(worker.handover, [_NEW_CONNECTION], [connection.fileno()]):
                    return

    def _start(self, number: int) -> _WorkerProcess:
        reading, writing = os.pipe()
        handover, taker = socket.socketpair()
        handover.setblocking(False)
        metrics = self._folder / "metrics"
        metrics.mkdir(exist_ok=True)
        process = subprocess.Popen(  # noqa: S603 - this very program
            [
                sys.executable,
                "-m",
                self._home.surfaces.worker_module,
                str(taker.fileno()),
                str(writing),
            ],
            stdin=subprocess.PIPE,
            pass_fds=(taker.fileno(), writing),
            env={**os.environ, MULTIPROCESS_FOLDER: str(metrics)},
        )
        os.close(writing)
        taker.close()
        plan = WorkerPlan(
            settings=self._settings,
            configured=self._home.configured,
            number=number,
            folder=self._folder,
            passphrases=self._passphrases,
        )
        assert process.stdin is not None
        try:
            pickle.dump(plan, process.stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended already, which is noticed soon
        return _WorkerProcess(number, process, os.fdopen(reading, "rb"), handover)

    def _look_after(self, worker: _WorkerProcess) -> None:
        """Start a worker anew that has ended."""
        code = worker.process.poll()
        if code is None or self._signals:
            return
        now = time.monotonic()
        if not worker.ended_at:
            worker.ended_at = now
            if now - worker.started_at > _STEADY_SECONDS:
                worker.pause = 0.0
            else:
                worker.pause = min(max(1.0, 2 * worker.pause), _MAX_PAUSE_SECONDS)
            self._log_end(worker, code)
        if now - worker.ended_at >= worker.pause:
            worker.close()
            successor = self._start(worker.number)
            successor.pause = worker.pause
            self._workers[worker.number] = successor

    def _log_end(self, worker: _WorkerProcess, code: int) -> None:
        if self._settings.serve.log == "json":
            fields: dict[str, Any] = {
                "event": "worker ended",
                "worker": worker.number + 1,
                "pid": worker.process.pid,
                "code": code,
            }
            line = json.dumps(fields)
        else:
            end = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            line = (
                f"engrams: worker {worker.number + 1} (process {worker.process.pid}) {end}; it is"
                " started again"
            )
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def _end_all(self) -> None:
        """End all workers; a second signal, or a long time, kills them."""
        alive = [worker for worker in self._workers if worker.process.poll() is None]
        for worker in alive:
            worker.process.terminate()
        patience = _PATIENCE_SECONDS + self._settings.sessions.shutdown_seconds
        deadline = time.monotonic() + patience
        signals_before = max(self._signals, 1)
        while (
            any(worker.process.poll() is None for worker in alive)
            and time.monotonic() < deadline
            and self._signals <= signals_before
        ):
            time.sleep(_LOOK_SECONDS)
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.process.wait()
            worker.close()


def unlock(settings: Settings) -> dict[str, str]:
    """Open an encrypted home; return the passphrases that were typed for it."""
    url = settings.store.url
    if "://" not in url:
        encryption.unlock_home(
            settings.home,
            settings.encryption,
            Path(url) if url else settings.home.expanduser() / "memory.db",
        )
    return encryption.typed_passphrases()


def _await_ready(worker: _WorkerProcess) -> None:
    """Wait until a worker serves. EngramsError: it cannot, for the reason that it gave."""
    line = worker.report.readline()
    if not line:
        code = worker.process.wait()
        raise EngramsError(
            f"A worker process did not start (exit code {code}).",
            hint="Its output above gives the reason.",
        )
    report = json.loads(line)
    if report["error"]:
        worker.process.wait()
        raise getattr(errors, report["error"])(report["message"], hint=report["hint"])
