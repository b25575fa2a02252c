"""Sockets between the worker processes of one server.

A process has a socket in a private folder, and connects to those of the others when it has news for
them. Each piece of news is a frame: its length, then a name and values, pickled.
"""

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

_LENGTH = struct.Struct(">I")
_PIECE_BYTES = 1 << 16
_MAX_WAITING = 32
"""Messages that wait to be sent together, at most."""
_LATER_SECONDS = 0.2
_SEND_SECONDS = 0.5
"""Longest wait for a process that reads nothing; then it gets no more news, until it reads again."""

_log = logging.getLogger(__name__)


class WorkerLinks:
    """Links of worker ``number`` of ``count``, over sockets in a private folder.

    When ``send`` returns, its news is in the buffers of the other processes; ``hear`` takes in all
    news from this one's. So a request that follows the answer to another one finds what that one
    left, whichever process has it; except for news of ``send_later``, which may wait while this
    process is busy. Objects are pickled: only this user's processes can reach the sockets.
    """

    def __init__(self, folder: Path, number: int, count: int, peers: ProcessPeers) -> None:
        self._folder = folder
        self._peers = peers
        self._other_workers = [worker for worker in range(count) if worker != number]
        self._links: dict[int, socket.socket] = {}
        """Number of a worker -> link on which it gets news."""
        self._buffers: dict[socket.socket, bytearray] = {}
        """Link of another worker -> its news that are not complete yet."""
        self._waiting: list[bytes] = []
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
        for link in (self._listener, *self._buffers):
            self._loop.remove_reader(link)
        with self._lock:
            for link in (self._listener, *self._buffers, *self._links.values()):
                link.close()
            self._other_workers = []

    def send(self, name: str, values: tuple[Any, ...]) -> None:
        """Send news to the other processes; one that has ended misses them."""
        with self._lock:
            self._waiting.append(_make_frame(name, values))
            self._send_waiting()

    def send_later(self, name: str, values: tuple[Any, ...]) -> None:
        """Send news at the next ``flush``, or soon. To be called in the event loop."""
        assert self._loop is not None
        with self._lock:
            self._waiting.append(_make_frame(name, values))
            if len(self._waiting) >= _MAX_WAITING:
                self._send_waiting()
            elif len(self._waiting) == 1:
                self._loop.call_later(_LATER_SECONDS, self.flush)

    def flush(self) -> None:
        """Send the news that wait."""
        with self._lock:
            self._send_waiting()

    def _send_waiting(self) -> None:
        frames = b"".join(self._waiting)
        count = len(self._waiting)
        self._waiting = []
        for worker in self._other_workers if frames else ():
            try:
                self._find_link(worker).sendall(frames)
            except OSError as error:
                if worker in self._links:
                    self._links.pop(worker).close()
                    _log.warning(
                        "worker %d was not told of %d messages: %s", worker + 1, count, error
                    )

    def hear(self) -> None:
        """Take in all news that the others have sent so far."""
        for link in list(self._buffers):
            self._read(link)
        while len(self._buffers) < len(self._other_workers):
            accepted = self._accept()
            if accepted is None:
                return
            self._read(accepted)

    def _read(self, link: socket.socket) -> None:
        buffer = self._buffers[link]
        has_more = True
        while has_more:
            try:
                piece = link.recv(_PIECE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            if not piece:
                self._drop(link)
                return
            buffer += piece
            self._receive_frames(buffer)
            has_more = len(piece) == _PIECE_BYTES

    def _receive_frames(self, buffer: bytearray) -> None:
        """Take complete frames off the buffer, and pass their news on."""
        while len(buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(buffer)[0]
            if len(buffer) < end:
                return
            name, values = pickle.loads(bytes(buffer[_LENGTH.size : end]))  # noqa: S301 - from a process of this server
            del buffer[:end]
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
        self._buffers[link] = bytearray()
        self._loop.add_reader(link, self.hear)
        return link

    def _drop(self, link: socket.socket) -> None:
        assert self._loop is not None
        self._loop.remove_reader(link)
        del self._buffers[link]
        link.close()

    def _find_link(self, worker: int) -> socket.socket:
        if worker not in self._links:
            link = open_socket(_SEND_SECONDS)
            try:
                link.connect(os.fspath(self._path(worker)))
            except OSError:
                link.close()
                raise
            self._links[worker] = link
        return self._links[worker]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.link"


def _make_frame(name: str, values: tuple[Any, ...]) -> bytes:
    body = pickle.dumps((name, values), pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body
