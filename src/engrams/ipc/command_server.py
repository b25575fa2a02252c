"""Run commands that this user's other processes ask for.

`serve_commands` listens on a socket in the home's folder while its block runs.
"""

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

_UNNAMED_SUFFIX = ".new"
"""Suffix of a socket on which nobody listens yet."""
_UNNAMED_SECONDS = 60.0
"""Age of such a socket after which its process was killed before it listened."""
_BACKLOG = 64
_MAX_CALLS = 32
_REQUEST_SECONDS = 5.0
_CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommandCall:
    """Command that another process asks for."""

    arguments: tuple[str, ...]
    home: Path
    """Home as an absolute path."""

    named_home: str
    """Home as the caller read it from the arguments; empty: it named none."""

    folder: Path
    """Working folder of the caller."""

    environ: Mapping[str, str]
    stdin: str
    encoding: str
    columns: int
    """Columns of the caller's terminal; 0: it has none."""

    key: str
    """Key of the call; the same when the caller runs the command itself after a broken link."""

    at: datetime
    """Time of the call, the same in both processes too."""


@dataclass(frozen=True, slots=True)
class CommandReply:
    """Exit code and printed text of a command."""

    code: int
    out: str
    err: str


class DeclinedCallError(Exception):
    """Refusal of a call; its caller runs the command itself."""


CommandRunner = Callable[[CommandCall], CommandReply]


@contextmanager
def serve_commands(home: Path, run: CommandRunner) -> Iterator[None]:
    """Answer commands for this home while the block runs.

    Where the system or the folder has no sockets, commands open the home themselves. ``run`` is
    called in threads; it raises DeclinedCallError before it changes anything.
    """
    if not is_supported() or not home.is_dir():
        yield
        return
    try:
        listener, folder, path = _listen(home)
    except OSError as error:
        sys.stderr.write(
            "engrams: commands open this home themselves, because no socket can be made in it:"
            f" {error}\n"
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
        self._slots = threading.BoundedSemaphore(_MAX_CALLS)

    def start(self) -> None:
        """Accept calls in a thread."""
        threading.Thread(target=self._accept, name="commands", daemon=True).start()

    def stop(self) -> None:
        """Accept no more calls, and wait for those that run."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for _ in range(_MAX_CALLS):
            self._slots.acquire(timeout=max(0.0, deadline - time.monotonic()))

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            if self._slots.acquire(blocking=False):
                threading.Thread(
                    target=self._serve_link, args=(link,), name="command", daemon=True
                ).start()
            else:
                link.close()

    def _serve_link(self, link: socket.socket) -> None:
        try:
            link.settimeout(_REQUEST_SECONDS)
            if is_own_peer(link):
                self._answer_call(link, receive_frame(link))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the caller has gone, or is none of ours; it runs its command itself
        finally:
            link.close()
            self._slots.release()

    def _answer_call(self, link: socket.socket, fields: Any) -> None:
        """Run a command in a thread of its own, with heartbeats meanwhile."""
        if (fields["protocol"], fields["version"]) != (PROTOCOL, __version__):
            send_frame(link, {"declined": f"the server has version {__version__}"})
            return
        call = parse_call(fields)
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
        except DeclinedCallError as refusal:
            return {"declined": str(refusal)}
        except Exception as error:  # noqa: BLE001 - the caller runs it itself, and shows the error
            return {"declined": f"the server failed ({type(error).__name__})"}
        return {"code": reply.code, "out": reply.out, "err": reply.err, "pid": os.getpid()}


def parse_call(fields: Mapping[str, Any]) -> CommandCall:
    """Read a call from JSON. KeyError, TypeError, ValueError: it is none."""
    return CommandCall(
        arguments=tuple(str(word) for word in fields["arguments"]),
        home=Path(fields["home"]),
        named_home=str(fields["named"]),
        folder=Path(fields["folder"]),
        environ={str(name): str(value) for name, value in fields["environ"].items()},
        stdin=str(fields["stdin"]),
        encoding=str(fields["encoding"]),
        columns=int(fields["columns"]),
        key=str(fields["key"]),
        at=datetime.fromtimestamp(float(fields["at"]), UTC),
    )


def _listen(home: Path) -> tuple[socket.socket, int, Path]:
    """Open a socket in the home's folder for sockets.

    Returns the socket, a descriptor of the folder, and the socket's path.
    """
    sockets = home / SOCKET_FOLDER
    sockets.mkdir(mode=0o700, exist_ok=True)
    folder = os.open(sockets, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    listener = open_socket()
    try:
        if os.fstat(folder).st_uid == os.geteuid():
            os.fchmod(folder, 0o700)
        if not is_own_folder(folder):
            raise PermissionError(f"{sockets} is not this user's alone")
        _remove_leftovers(folder, sockets)
        path = sockets / f"{secrets.token_hex(4)}{SOCKET_SUFFIX}"
        unnamed = path.with_suffix(_UNNAMED_SUFFIX)
        listener.bind(socket_address(folder, str(unnamed)))
        os.chmod(unnamed.name, 0o600, dir_fd=folder)
        listener.listen(_BACKLOG)
        # Named when it listens, so that nobody takes it for the socket of a process that is gone.
        os.rename(unnamed.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        listener.close()
        os.close(folder)
        raise
    return listener, folder, path


def _remove_leftovers(folder: int, sockets: Path) -> None:
    """Remove sockets of processes that were killed."""
    for name in os.listdir(folder):
        with suppress(OSError), open_socket(_REQUEST_SECONDS) as link:
            if name.endswith(_UNNAMED_SUFFIX):
                age = time.time() - os.stat(name, dir_fd=folder).st_mtime
                if age > _UNNAMED_SECONDS:
                    os.unlink(name, dir_fd=folder)
            elif name.endswith(SOCKET_SUFFIX):
                try:
                    link.connect(socket_address(folder, str(sockets / name)))
                except ConnectionRefusedError:
                    os.unlink(name, dir_fd=folder)
