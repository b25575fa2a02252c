"""Processes of the program that start warm: forked from one that has imported the program already.

The suite starts the program more than a thousand times, and most of each start is the same imports.
With ``pytest --warm-start`` a process of each worker imports them once. ``subprocess.Popen`` then asks
it for a fork wherever a test starts ``python -m engrams.…`` in the plain way: the fork gets the
arguments, environment, directory and streams of the call, and runs the module as ``__main__``.
Everything else, and every call in a running event loop, starts cold as ever.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import engrams
from engrams.core import Scope
from engrams.testing import temp_engine

_MODULES = ("engrams.program.entry", "engrams.__main__", "engrams")
_SET_AT_START = ("PYTHON", "LC_", "LANG")
"""Beginnings of the variables that Python itself reads when it starts."""
_HEAD = 4


class WarmPopen(subprocess.Popen[Any]):
    """A ``Popen`` that forks the program from the warm process where it can."""

    warm: WarmProcess | None = None
    _ended: int = -1

    def _execute_child(self, *call: Any) -> None:
        """Fork, or start cold; the parameters are those of ``Popen._execute_child``."""
        names = (
            "args executable preexec_fn close_fds pass_fds cwd env startupinfo creationflags shell"
            " p2cread p2cwrite c2pread c2pwrite errread errwrite restore_signals gid gids uid umask"
            " start_new_session process_group"
        ).split()
        given = dict(zip(names, call, strict=True))
        if self.warm is None or not _is_plain(given):
            super()._execute_child(*call)  # type: ignore[misc]
            return
        streams = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        self._ended, theirs = os.pipe()
        try:
            self.pid = self.warm.fork(
                {
                    "module": given["args"][2],
                    "arguments": given["args"][3:],
                    "directory": str(Path(given["cwd"] or ".").absolute()),
                    "environment": dict(os.environ if given["env"] is None else given["env"]),
                    "session": given["start_new_session"],
                },
                [
                    *(number if stream == -1 else stream for number, stream in enumerate(streams)),
                    theirs,
                ],
            )
        finally:
            os.close(theirs)
            for stream, our_end in zip(
                streams, (given["p2cwrite"], given["c2pread"], given["errread"]), strict=True
            ):
                if -1 not in (stream, our_end):
                    os.close(stream)
        self._child_created = True
        self._closed_child_pipe_fds = True

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._ended == -1:
            return super()._try_wait(flags)  # type: ignore[misc,no-any-return]
        if flags & os.WNOHANG and not select.select([self._ended], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._ended, _HEAD)
        os.close(self._ended)
        return self.pid, int.from_bytes(status, "little") if status else signal.SIGKILL

    def _internal_poll(self, *given: Any, **more: Any) -> int | None:
        if self._ended == -1:
            return super()._internal_poll(*given, **more)  # type: ignore[misc,no-any-return]
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def _is_plain(given: Mapping[str, Any]) -> bool:
    """Return whether a fork can do what the call asks for."""
    args = given["args"]
    environment = given["env"]
    return (
        isinstance(args, (list, tuple))
        and [os.fspath(arg) for arg in args[:2]] == [sys.executable, "-m"]
        and len(args) > 2
        and args[2] in _MODULES
        and all(isinstance(arg, str) for arg in args)
        and given["executable"] in (None, sys.executable, args[0])
        and given["preexec_fn"] is None
        and not given["pass_fds"]
        and not given["shell"]
        and given["umask"] == -1
        and given["process_group"] in (None, -1)
        and given["gid"] is None
        and given["uid"] is None
        and (given["cwd"] is None or Path(given["cwd"]).is_dir())
        and (environment is None or _at_start(environment) == _at_start(os.environ))
        and asyncio._get_running_loop() is None
    )


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if str(name).startswith(_SET_AT_START)
    }


class WarmProcess:
    """The process that forks; it ends with the process that made it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._control = ours
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_start", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()

    def fork(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """Fork with these streams and the pipe for the exit status; return the pid."""
        body = json.dumps(request).encode("utf-8", "surrogateescape")
        with self._lock:
            socket.send_fds(self._control, [len(body).to_bytes(_HEAD, "little")], descriptors)
            self._control.sendall(body)
            return int.from_bytes(self._control.recv(_HEAD, socket.MSG_WAITALL), "little")

    def close(self) -> None:
        self._control.close()
        self._process.wait()


def serve(control: socket.socket) -> None:
    """Fork at each request, and tell each exit status; return in the forks, whose work comes next."""
    for module in walk_packages(engrams.__path__, "engrams."):
        # A module of an extra that is not installed is left out. One that is started is run later.
        if module.name not in _MODULES:
            with suppress(ImportError):
                import_module(module.name)
    _use_once()
    gc.collect()
    gc.freeze()
    woken, waker = socket.socketpair()
    for end in (woken, waker):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    ends: dict[int, int] = {}
    while True:
        ready = select.select([control, woken], [], [])[0]
        if woken in ready:
            with suppress(BlockingIOError):
                woken.recv(1 << 12)
            _tell_ended(ends)
        if control in ready:
            head, descriptors, _, _ = socket.recv_fds(control, _HEAD, 4)
            if not head:
                sys.exit()
            body = control.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)
            pid = os.fork()
            if pid == 0:
                for end in (control, woken, waker):
                    end.close()
                for status_pipe in ends.values():
                    os.close(status_pipe)
                _run(json.loads(body), descriptors)
                return
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            ends[pid] = descriptors[3]
            control.sendall(pid.to_bytes(_HEAD, "little"))


def _use_once() -> None:
    """Use a memory, so that the tables which a process reads at its first use are there."""
    scope = Scope(("user", "ann"))
    with temp_engine(user="ann") as engine:
        engine.add("I live in Lisbon, and my sister keeps bees.", scope=scope)
        engine.add("I no longer live in Lisbon, I moved to Porto.", scope=scope)
        engine.drain()
        engine.search("Where do I live?", scope=scope)
        engine.context("Where do I live?", scope=scope)
    # The folder of temporary files is each fork's own.
    tempfile.tempdir = None


def _tell_ended(ends: dict[int, int]) -> None:
    while ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with suppress(BrokenPipeError):
            os.write(ends[pid], status.to_bytes(_HEAD, "little"))
        os.close(ends.pop(pid))


def _run(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Become the process that the call asked for."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    if request["session"]:
        os.setsid()
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.path[0] = request["directory"]
    _open_streams()
    sys.argv = [request["module"], *request["arguments"]]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


def _open_streams() -> None:
    """Give Python its three streams anew, as it opens them when it starts."""
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, stream)
        is_terminal = os.isatty(number)
        new = open(  # noqa: SIM115 - open as long as the process
            number,
            "w" if number else "r",
            encoding=old.encoding,
            errors=old.errors,
            buffering=1 if is_terminal or number == 2 else -1,
            closefd=False,
        )
        setattr(sys, stream, new)
        setattr(sys, f"__{stream}__", new)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
