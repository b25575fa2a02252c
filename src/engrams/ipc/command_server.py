"""Run commands that this user's other processes ask for."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engrams import __version__
from engrams.frozen_data import dataclass
from engrams.ipc.command_client import SOCKET_FOLDER, SOCKET_SUFFIX
from engrams.ipc.framed_link import (
    HEARTBEAT_SECONDS,
    PROTOCOL,
    is_own_folder,
    is_own_peer,
    is_supported,
    open_socket,
    receive_frame,
    send_frame,
    socket_address,
)

_FRESH = ".new"
_FRESH_SECONDS = 60.0
"""Age of a socket without its name from which it is a killed process's."""
_BACKLOG = 64
_MOST_CALLS = 32
_REQUEST_SECONDS = 5.0
_CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommandCall:
    """Command that another process asks for.

    ``home``: absolute; ``named``: as the caller read it from the arguments. ``folder``: the one it
    was called in. ``columns``: of its terminal; 0: it has none. ``key`` and ``at`` are the same
    when the caller runs the command itself after a broken link.
    """

    arguments: tuple[str, ...]
    home: Path
    named: str
    folder: Path
    environ: Mapping[str, str]
    stdin: str
    encoding: str
    columns: int
    key: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CommandReply:
    """Exit code and printed text of a command."""

    code: int
    out: str
    err: str


class DeclinedCallError(Exception):
    """Refusal of a call; its caller does it itself."""


CommandRunner = Callable[[CommandCall], CommandReply]


@contextmanager
def serve_commands(home: Path, run: CommandRunner) -> Iterator[None]:
    """Answer commands for this home meanwhile.

    Where the system or the folder has no sockets, commands open the home themselves. ``run``:
    raises DeclinedCallError before it does anything; called in threads.
    """
    if not is_supported() or not home.is_dir():
        yield
        return
    try:
        listener, folder, path = _listen(home)
    except OSError as problem:
        sys.stderr.write(
            "engrams: commands open this home themselves, because no socket can be made in it:"
            f" {problem}\n"
        )
        yield
        return
    server = _CommandServer(listener, run)
    server.start()
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path.name, dir_fd=folder)
        server.stop()
        os.close(folder)


class _CommandServer:
    """Thread that accepts links, and one for each call."""

    def __init__(self, listener: socket.socket, run: CommandRunner) -> None:
        self._listener = listener
        self._run = run
        self._free = threading.BoundedSemaphore(_MOST_CALLS)

    def start(self) -> None:
        threading.Thread(target=self._accept, name="commands", daemon=True).start()

    def stop(self) -> None:
        """Accept no more, and let what runs finish."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        end = time.monotonic() + _CLOSE_SECONDS
        for _ in range(_MOST_CALLS):
            self._free.acquire(timeout=max(0.0, end - time.monotonic()))

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            if self._free.acquire(blocking=False):
                threading.Thread(
                    target=self._serve_link, args=(link,), name="command", daemon=True
                ).start()
            else:
                link.close()

    def _serve_link(self, link: socket.socket) -> None:
        try:
            link.settimeout(_REQUEST_SECONDS)
            if is_own_peer(link):
                self._answer(link, receive_frame(link))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # who asked has gone, or is none of ours; it does its command itself
        finally:
            link.close()
            self._free.release()

    def _answer(self, link: socket.socket, asked: Any) -> None:
        """Run a command in a thread of its own, with heartbeats meanwhile."""
        if (asked["protocol"], asked["version"]) != (PROTOCOL, __version__):
            send_frame(link, {"declined": f"the server has version {__version__}"})
            return
        call = parse_call(asked)
        answers: list[dict[str, Any]] = []
        worker = threading.Thread(
            target=lambda: answers.append(self._run_call(call)), name="command", daemon=True
        )
        worker.start()
        worker.join(HEARTBEAT_SECONDS)
        while worker.is_alive():
            send_frame(link, None)
            worker.join(HEARTBEAT_SECONDS)
        send_frame(link, answers[0])

    def _run_call(self, call: CommandCall) -> dict[str, Any]:
        try:
            reply = self._run(call)
        except DeclinedCallError as reason:
            return {"declined": str(reason)}
        except Exception as fault:  # noqa: BLE001 - the caller does it itself, and shows what goes wrong
            return {"declined": f"the server failed ({type(fault).__name__})"}
        return {"code": reply.code, "out": reply.out, "err": reply.err, "pid": os.getpid()}


def parse_call(asked: Mapping[str, Any]) -> CommandCall:
    """Read a call from JSON. KeyError, TypeError, ValueError: it is none."""
    return CommandCall(
        arguments=tuple(str(word) for word in asked["arguments"]),
        home=Path(asked["home"]),
        named=str(asked["named"]),
        folder=Path(asked["folder"]),
        environ={str(name): str(value) for name, value in asked["environ"].items()},
        stdin=str(asked["stdin"]),
        encoding=str(asked["encoding"]),
        columns=int(asked["columns"]),
        key=str(asked["key"]),
        at=datetime.fromtimestamp(float(asked["at"]), UTC),
    )


def _listen(home: Path) -> tuple[socket.socket, int, Path]:
    """Open a socket in the home's folder for sockets; (it, folder, path)."""
    place = home / SOCKET_FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    listener = open_socket()
    try:
        if os.fstat(folder).st_uid == os.geteuid():
            os.fchmod(folder, 0o700)
        if not is_own_folder(folder):
            raise PermissionError(f"{place} is not this user's alone")
        _remove_leftovers(folder, place)
        path = place / f"{secrets.token_hex(4)}{SOCKET_SUFFIX}"
        fresh = path.with_suffix(_FRESH)
        listener.bind(socket_address(folder, str(fresh)))
        os.chmod(fresh.name, 0o600, dir_fd=folder)
        listener.listen(_BACKLOG)
        # Named when it listens, so that nobody takes it for the socket of a process that is gone.
        os.rename(fresh.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        listener.close()
        os.close(folder)
        raise
    return listener, folder, path


def _remove_leftovers(folder: int, place: Path) -> None:
    """Remove sockets of processes that were killed."""
    for name in os.listdir(folder):
        with suppress(OSError), open_socket(_REQUEST_SECONDS) as link:
            if (
                name.endswith(_FRESH)
                and time.time() - os.stat(name, dir_fd=folder).st_mtime > _FRESH_SECONDS
            ):
                os.unlink(name, dir_fd=folder)
            elif name.endswith(SOCKET_SUFFIX):
                try:
                    link.connect(socket_address(folder, str(place / name)))
                except ConnectionRefusedError:
                    os.unlink(name, dir_fd=folder)
