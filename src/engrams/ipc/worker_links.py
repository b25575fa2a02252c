"""Sockets between the worker processes of one server."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import socket
import struct
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from engrams.core.process_peers import ProcessPeers
from engrams.ipc.framed_link import is_own_peer, open_socket

_HEAD = struct.Struct(">I")
_PIECE = 1 << 16
_MOST_LATER = 32
"""Messages that wait to be sent together, at most."""
_LATER_SECONDS = 0.2
_SEND_SECONDS = 0.5
"""Longest wait for a process that reads nothing; then it is told no more, until it reads again."""

_log = logging.getLogger(__name__)


class WorkerLinks:
    """Links of worker ``number`` of ``count``, over sockets in a private folder.

    What ``send`` was given is in the others' buffers when it returns, and ``hear`` takes in all
    that is in this one's: a request that follows the answer to another one finds what that one
    left, whichever process has it; but for what ``send_later`` was given, while this process is
    busy. Objects are pickled: only this user's processes can reach the sockets.
    """

    def __init__(self, folder: Path, number: int, count: int, peers: ProcessPeers) -> None:
        self._folder = folder
        self._peers = peers
        self._others = [other for other in range(count) if other != number]
        self._links: dict[int, socket.socket] = {}
        self._heard: dict[socket.socket, bytearray] = {}
        self._later: list[bytes] = []
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        path = self._path(number)
        with suppress(FileNotFoundError):
            path.unlink()
        self._listener = open_socket(0)
        self._listener.bind(os.fspath(path))
        self._listener.listen(count)
        peers.connect(self.send, self.send_later)

    def start(self) -> None:
        """Read in this event loop from now on, also between requests."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._listener, self.hear)

    def stop(self) -> None:
        """Close all links."""
        assert self._loop is not None
        for link in (self._listener, *self._heard):
            self._loop.remove_reader(link)
        with self._lock:
            for link in (self._listener, *self._heard, *self._links.values()):
                link.close()
            self._others = []

    def send(self, name: str, values: tuple[Any, ...]) -> None:
        """Tell the other processes; one that is gone misses it."""
        with self._lock:
            self._later.append(_make_frame(name, values))
            self._send_waiting()

    def send_later(self, name: str, values: tuple[Any, ...]) -> None:
        """Tell the other processes at the next ``flush``, or soon.

        To be called in the event loop.
        """
        assert self._loop is not None
        with self._lock:
            self._later.append(_make_frame(name, values))
            if len(self._later) >= _MOST_LATER:
                self._send_waiting()
            elif len(self._later) == 1:
                self._loop.call_later(_LATER_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            self._send_waiting()

    def _send_waiting(self) -> None:
        frames = b"".join(self._later)
        count = len(self._later)
        self._later = []
        for other in self._others if frames else ():
            try:
                self._find_link(other).sendall(frames)
            except OSError as problem:
                if other in self._links:
                    self._links.pop(other).close()
                    _log.warning(
                        "worker %d was not told of %d messages: %s", other + 1, count, problem
                    )

    def hear(self) -> None:
        """Take in all that the others have told so far."""
        for link in list(self._heard):
            self._read(link)
        while len(self._heard) < len(self._others) and (fresh := self._accept()):
            self._read(fresh)

    def _read(self, link: socket.socket) -> None:
        held = self._heard[link]
        more = True
        while more:
            try:
                piece = link.recv(_PIECE)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            if not piece:
                self._drop(link)
                return
            held += piece
            self._take_frames(held)
            more = len(piece) == _PIECE

    def _take_frames(self, held: bytearray) -> None:
        while len(held) >= _HEAD.size and len(held) >= (
            end := _HEAD.size + _HEAD.unpack_from(held)[0]
        ):
            name, values = pickle.loads(bytes(held[_HEAD.size : end]))  # noqa: S301 - from a process of this server
            del held[:end]
            self._peers.receive(name, values)

    def _accept(self) -> socket.socket | None:
        assert self._loop is not None
        try:
            link, _ = self._listener.accept()
        except OSError:
            return None
        if not is_own_peer(link):
            link.close()
            return None
        link.setblocking(False)
        self._heard[link] = bytearray()
        self._loop.add_reader(link, self.hear)
        return link

    def _drop(self, link: socket.socket) -> None:
        assert self._loop is not None
        self._loop.remove_reader(link)
        del self._heard[link]
        link.close()

    def _find_link(self, other: int) -> socket.socket:
        if other not in self._links:
            link = open_socket(_SEND_SECONDS)
            try:
                link.connect(os.fspath(self._path(other)))
            except OSError:
                link.close()
                raise
            self._links[other] = link
        return self._links[other]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.link"


def _make_frame(name: str, values: tuple[Any, ...]) -> bytes:
    body = pickle.dumps((name, values), pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(len(body)) + body
