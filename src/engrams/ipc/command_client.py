"""Ask a running process of this home to run a command.

Loaded by every quick command: only small modules of the standard library.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from engrams import __version__
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

SOCKET_FOLDER = "run"
"""Folder of a home with the sockets of the processes that serve it."""

SOCKET_SUFFIX = ".sock"
RESIDENT_LOCK = "resident.lock"
"""File beside the sockets that the home's resident process keeps locked."""
_SILENCE_SECONDS = 4 * HEARTBEAT_SECONDS
"""Time without a heartbeat after which a server counts as hung."""
MAX_SECONDS = 60.0
"""Time for an answer, while there are heartbeats."""


class CommandClient:
    """Send one command to a process that has the home open.

    ``key`` and ``at`` name this call: a process that runs the command again after a broken link
    gives its writes the same ids, so that nothing is stored twice.
    """

    def __init__(
        self, arguments: Sequence[str], home: str, stdin: str = "", seconds: float = MAX_SECONDS
    ) -> None:
        self.key = os.urandom(10).hex()
        self.at = time.time()
        self.reason = "no server runs for this home"
        """Reason why no server answered; for people."""
        self.pid = 0
        """Process that answered."""
        self.met_server = False
        """True: a server runs, though it gave no answer."""
        self._arguments = list(arguments)
        self._stdin = stdin
        self._seconds = seconds
        self._patience = min(_SILENCE_SECONDS, seconds)
        self._named_home = home
        self._home = os.path.abspath(
            os.path.expanduser(home or os.environ.get("ENGRAMS_HOME") or "~/.engrams")
        )

    def ask(self) -> dict[str, Any] | None:
        """Return code, out and err of the command; None: no server ran it.

        Then it is safe to run the command here, with the same ``key``.
        """
        if not is_supported():
            self.reason = "this system has no Unix sockets"
            return None
        path = os.path.join(self._home, SOCKET_FOLDER)
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            if not is_own_folder(folder):
                self.reason = f"{path} is open to others"
                return None
            names = sorted(name for name in os.listdir(folder) if name.endswith(SOCKET_SUFFIX))
            for name in names:
                answer = self._ask_server(folder, os.path.join(path, name))
                if answer is not None:
                    return answer
            return None
        finally:
            os.close(folder)

    def has_home(self) -> bool:
        """True if a server can serve the home: it exists, and the system has sockets for it."""
        return is_supported() and os.path.isdir(self._home)

    def take_resident_lock(self) -> int | None:
        """Take the lock of the home's resident process; None: another process holds it.

        Returns an open file, which may be handed over to a new process with the lock.
        """
        import fcntl

        folder = os.path.join(self._home, SOCKET_FOLDER)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        lock = os.open(
            os.path.join(folder, RESIDENT_LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return lock

    def describe_answer(self, *, answered: bool) -> str:
        """Return a line for `--verbose`."""
        return (
            f"engrams: a running server answered (process {self.pid})\n"
            if answered
            else describe_opening(self.reason)
        )

    def _ask_server(self, folder: int, path: str) -> dict[str, Any] | None:
        if self._patience <= 0:
            return None  # another server hung and used up the time
        link = open_socket(self._patience)
        try:
            link.connect(socket_address(folder, path))
            if not is_own_peer(link):
                self.reason = "the server belongs to another user"
                return None
            self.met_server = True
            send_frame(link, self._describe_call())
            answer = self._await_answer(link)
        except ConnectionRefusedError:
            _remove_stale(path)
            return None
        except (OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                self._patience = 0.0
            self.reason = f"the server gave no answer ({str(error) or type(error).__name__})"
            return None
        finally:
            link.close()
        if "declined" in answer:
            self.reason = str(answer["declined"])
            return None
        return answer

    def _await_answer(self, link: Any) -> dict[str, Any]:
        """Wait for the answer, as long as there are heartbeats."""
        deadline = time.monotonic() + self._seconds
        while (answer := receive_frame(link)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("it takes too long")
        if not isinstance(answer, dict):
            raise ValueError("it is no answer")
        self.pid = int(answer.get("pid", 0))
        return answer

    def _describe_call(self) -> dict[str, Any]:
        """Describe the command and this process, for the server: it runs the command as if here.

        ``named``: the home as the user gave it; empty: the default. ``at``: seconds since 1970.
        """
        has_terminal = sys.stdout.isatty()
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "arguments": self._arguments,
            "home": self._home,
            "named": self._named_home,
            "folder": os.getcwd(),
            "environ": dict(os.environ),
            "stdin": self._stdin,
            "encoding": sys.stdout.encoding or "",
            "columns": os.get_terminal_size(sys.stdout.fileno()).columns if has_terminal else 0,
            "key": self.key,
            "at": self.at,
        }


def describe_opening(reason: str) -> str:
    """Return a line for `--verbose` where no server answered."""
    return f"engrams: this process opens the home: {reason}\n"


def find_option(arguments: Sequence[str], name: str) -> str:
    """Return the value of an option; empty: it is not given.

    Read without the command's parser; a server reads the arguments itself, and declines where it
    finds another home.
    """
    for index, word in enumerate(arguments):
        if word == "--":
            break
        if word == name:
            return arguments[index + 1] if index + 1 < len(arguments) else ""
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _remove_stale(path: str) -> None:
    """Remove the socket of a process that is gone."""
    with suppress(OSError):
        os.unlink(path)
