"""Factory of the uvicorn server that answers HTTP.

``create_server`` adds two things to uvicorn: time limits for requests, and connections that a parent
process hands over.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from contextlib import suppress

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from engrams.settings import ServeSettings

_MAX_HEAD_BYTES = 1 << 16
"""Bytes of a request's head, which no parser limits for us."""


def create_server(
    app: FastAPI,
    settings: ServeSettings | None = None,
    handover: socket.socket | None = None,
    grace: float = 10.0,
    stop: threading.Event | None = None,
) -> uvicorn.Server:
    """Create a uvicorn server without its own headers and access log.

    ``handover``: socket over which a parent process sends the connections that it accepted; the
    server then listens on no port. ``grace``: seconds that requests have to end when the server
    stops. ``stop``: stops the server when it is set, as a signal does.
    """
    serve = settings or ServeSettings()
    protocol = type("TimedProtocol", (_TimedProtocol,), {"receive_seconds": serve.receive_seconds})
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        http=protocol,
        timeout_keep_alive=math.ceil(serve.idle_seconds),
        timeout_graceful_shutdown=max(1, math.ceil(grace)),
    )
    return _StoppableServer(config, stop) if handover is None else _HandedServer(config, handover)


class _TimedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Close connections that send no request, or half of one."""

    receive_seconds = 30.0
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch = self.loop.call_later(self.receive_seconds, self._close_stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._is_waiting() and self.timeout_keep_alive_task is None
        super().data_received(data)
        is_in_head = was_in_head and self._is_waiting()
        self._head_bytes = self._head_bytes + len(data) if is_in_head else 0
        if self._head_bytes > _MAX_HEAD_BYTES:
            self.transport.close()
        # A head has one span of time for all of it; a body has one for each piece.
        if not is_in_head or self._watch.when() <= self.loop.time():
            self._watch.cancel()
            self._watch = self.loop.call_later(self.receive_seconds, self._close_stalled)

    def on_message_complete(self) -> None:
        """Note the end of a body, also of one already answered."""
        super().on_message_complete()
        if self.cycle is not None:
            self.cycle.more_body = False

    def _is_waiting(self) -> bool:
        """Return True between requests, and within the head of one."""
        if self.cycle is None:
            return True
        return bool(self.cycle.response_complete and not self.cycle.more_body)

    def _close_stalled(self) -> None:
        is_head_missing = self.timeout_keep_alive_task is None and self._is_waiting()
        is_half_a_body = self.cycle is not None and self.cycle.more_body
        if is_head_missing or is_half_a_body:
            self.transport.close()


class _StoppableServer(uvicorn.Server):
    """Stop at a signal, or when an event is set."""

    def __init__(self, config: uvicorn.Config, stop: threading.Event | None) -> None:
        super().__init__(config)
        self._stop = stop

    async def on_tick(self, counter: int) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return await super().on_tick(counter) or is_stopped


class _HandedServer(uvicorn.Server):
    """Serve connections that another process accepted and sends over ``handover``."""

    def __init__(self, config: uvicorn.Config, handover: socket.socket) -> None:
        super().__init__(config)
        self._handover = handover
        self._connecting = set[asyncio.Task[object]]()
        handover.setblocking(False)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._handover, self._accept_handed)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().remove_reader(self._handover)
        # Connections that were handed over before the signal are still answered.
        self._accept_handed()
        if self._connecting:
            await asyncio.wait(self._connecting)
        await super().shutdown(sockets)

    def _accept_handed(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(BlockingIOError):
            while True:
                data, descriptors, _, _ = socket.recv_fds(self._handover, 1, 1)
                if not data:
                    loop.remove_reader(self._handover)  # the parent has gone
                    return
                connection = socket.socket(fileno=descriptors[0])
                connection.setblocking(False)
                task: asyncio.Task[object] = loop.create_task(
                    loop.connect_accepted_socket(self._create_protocol, connection)
                )
                self._connecting.add(task)
                task.add_done_callback(self._connecting.discard)

    def _create_protocol(self) -> asyncio.Protocol:
        protocol_class = self.config.http_protocol_class
        return protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )  # type: ignore[call-arg]
