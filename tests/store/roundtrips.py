"""A way to a Postgres server that counts how often somebody waits for it."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from types import TracebackType
from urllib.parse import parse_qs, urlsplit


class RoundTripCounter:
    """Relay in front of a server on a socket file; ``count``: times that it was asked after it had
    answered.

    ``url``: the address that goes through it.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://{parts.username}@127.0.0.1:{self._listener.getsockname()[1]}{parts.path}?sslmode=disable&gssencmode=disable"
        self.count = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(ConnectionError):
            server.connect(self._server)
            other = {client: server, server: client}
            answered = True
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    self.count += answered and ready is client
                    answered = ready is server
                    other[ready].sendall(data)

    def __enter__(self) -> RoundTripCounter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()
