"""A way to a test's Postgres that can be cut, as if the server were gone."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class ServerRelay:
    """Relays connections at a TCP port to a server's Unix socket, until it is cut.

    ``address``: through it. While it is cut the port refuses connections, as that of a server which
    does not run.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._port = 0
        self._open: list[socket.socket] = []
        self.mend()
        self.address = f"postgresql://postgres@127.0.0.1:{self._port}/postgres?sslmode=disable&gssencmode=disable"

    def mend(self) -> None:
        """Take connections from now on."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, and take none."""
        for stream in (self._listener, *self._open):
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._path)
                self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for stream in (source, target):
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
