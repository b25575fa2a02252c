"""HTTP connections to an upstream on this machine.

`UpstreamTransport` is a transport of httpx; `UpstreamConnection` speaks HTTP over one socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httptools
import httpx2

_MAX_IDLE = 100
_IDLE_SECONDS = 5.0
"""Connections kept for later requests, and how long."""
_MAX_HEAD_BYTES = 100_000
_HIGH_WATER = 1 << 18
"""Bytes of a body that wait for its reader, until no more are taken from the socket."""


class UpstreamTransport(httpx2.AsyncBaseTransport):
    """Transport of requests to one server by http.

    The framework's own takes apart each piece of a stream in several layers, which costs a stream
    five times the work.
    """

    def __init__(self) -> None:
        self._idle: list[UpstreamConnection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        seconds = request.extensions.get("timeout", {})
        connection = self._take_idle() or await _connect(request.url, seconds.get("connect"))
        try:
            await connection.send(request, seconds.get("write"))
            await connection.receive_head(seconds.get("read"))
        except BaseException:
            connection.close()
            raise
        stream = UpstreamAnswerStream(connection, seconds.get("read"), self._release)
        return httpx2.Response(
            connection.status, headers=connection.headers, stream=stream, request=request
        )

    async def aclose(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take_idle(self) -> UpstreamConnection | None:
        """Take the connection used last; those that waited too long are closed."""
        now = asyncio.get_running_loop().time()
        expired = [
            connection
            for connection in self._idle
            if connection.closed or now - connection.idle_since > _IDLE_SECONDS
        ]
        for connection in expired:
            self._idle.remove(connection)
            connection.close()
        return self._idle.pop() if self._idle else None

    def _release(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose answer was read whole, else close it."""
        if connection.prepare_reuse() and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()


class UpstreamAnswerStream(httpx2.AsyncByteStream):
    """Body of an answer, as it comes."""

    def __init__(
        self,
        connection: UpstreamConnection,
        seconds: float | None,
        release: Callable[[UpstreamConnection], None],
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._release: Callable[[UpstreamConnection], None] | None = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._connection.read(self._seconds):
            yield piece

    async def aclose(self) -> None:
        release = self._release
        self._release = None
        if release is not None:
            release(self._connection)


class UpstreamConnection(asyncio.Protocol):
    """Connection that carries one request at a time."""

    def __init__(self) -> None:
        self.closed = False
        """True where no further request can use it."""
        self.idle_since = 0.0
        """Time of the event loop at which the last answer had ended."""
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        """Headers of the answer, as they came."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._error: httpx2.TransportError | None = None
        self._pieces: list[bytes] = []
        """Body that nobody has read yet."""
        self._unread_bytes = 0
        self._head_size = 0
        self._is_full = False
        """True where the socket takes no more of the request for now."""
        self._is_paused = False
        """True where no more of the answer is taken from the socket for now."""
        self._is_sent = False
        self._has_head = False
        self._has_ended = False
        self._keeps_alive = False
        self._is_bodiless = False
        """True for the answer to HEAD."""

    # ----------------------------------------------------------------------------------------------
    # for the transport

    async def send(self, request: httpx2.Request, seconds: float | None) -> None:
        """Send a request. httpx2.TransportError: it cannot be sent; what its body raises."""
        assert self._transport is not None
        lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%s: %s" % pair for pair in request.headers.raw]
        if any(b"\r" in line or b"\n" in line for line in lines):
            raise httpx2.LocalProtocolError("The head of the request contains a line break.")
        self._parser = httptools.HttpResponseParser(self)
        self.headers = []
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True)
        self._head_size = 0
        self._is_bodiless = request.method == "HEAD"
        self._is_sent = False
        self._has_head = False
        self._has_ended = False
        self._keeps_alive = False
        head = b"\r\n".join([*lines, b"", b""])
        is_chunked = "transfer-encoding" in request.headers
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        async for piece in request.stream:
            while self._is_full and not self._is_answered:
                await self._wait(seconds, httpx2.WriteTimeout)
            if self._is_answered:
                return  # an answer before the end of the request: the server reads no more
            if piece:
                framed = b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece
                self._transport.write(head + framed)
                head = b""
        if not self._is_answered:
            self._transport.write(head + (b"0\r\n\r\n" if is_chunked else b""))
            self._is_sent = True

    @property
    def _is_answered(self) -> bool:
        return self._has_head or self._error is not None

    async def receive_head(self, seconds: float | None) -> None:
        """Wait for status and headers. httpx2.TransportError: none came."""
        while not self._has_head:
            if self._error is not None:
                raise self._error
            await self._wait(seconds, httpx2.ReadTimeout)

    async def read(self, seconds: float | None) -> bytes:
        """Read what has come of the body; empty: its end.

        httpx2.TransportError: it broke off.
        """
        while not self._pieces:
            if self._has_ended:
                return b""
            if self._error is not None:
                raise self._error
            await self._wait(seconds, httpx2.ReadTimeout)
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._unread_bytes = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def prepare_reuse(self) -> bool:
        """Prepare for another request; False: there can be none."""
        self._parser = None
        self.idle_since = self._loop.time()
        return (
            self._is_sent
            and self._has_ended
            and self._keeps_alive
            and not (self._pieces or self.closed)
        )

    def close(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.close()

    async def _wait(
        self, seconds: float | None, timeout_class: type[httpx2.TimeoutException]
    ) -> None:
        """Wait until the socket or the parser has changed the state."""
        self._waiter = self._loop.create_future()
        timer = None
        if seconds is not None:
            timeout = timeout_class("The upstream took too long.")
            timer = self._loop.call_later(seconds, self._fail, timeout)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: httpx2.TransportError) -> None:
        self._error = self._error or error
        self.close()
        self._wake()

    # ----------------------------------------------------------------------------------------------
    # called by the socket

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._parser is None:
            self.close()  # bytes without a request
            return
        self._head_size += 0 if self._has_head else len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx2.RemoteProtocolError(f"The upstream's answer is not HTTP: {error}."))
        if not self._has_head and self._head_size > _MAX_HEAD_BYTES:
            self._fail(
                httpx2.RemoteProtocolError("The head of the upstream's answer is too large.")
            )
        if self._unread_bytes > _HIGH_WATER and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        has_length = any(
            name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers
        )
        if self._has_head and exc is None and not has_length:
            self._has_ended = True  # a body without a length ends with its connection
        elif not self._has_ended:
            moment = "in the middle of" if self._has_head else "before"
            self._error = self._error or httpx2.RemoteProtocolError(
                f"The upstream closed the connection {moment} its answer."
            )
        self.closed = True
        self._wake()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    # ----------------------------------------------------------------------------------------------
    # called by the parser

    def on_message_begin(self) -> None:
        self._keeps_alive = self._keeps_alive and not self._has_ended

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if self._has_head:
            return
        if status < 200:
            self.headers = []  # an interim answer (100 Continue): the real one follows
            return
        self.status = status
        self._has_head = True
        self._has_ended = self._is_bodiless
        self._keeps_alive = self._parser.should_keep_alive() and not self._is_bodiless

    def on_body(self, body: bytes) -> None:
        if not self._has_ended:
            self._pieces.append(body)
            self._unread_bytes += len(body)

    def on_message_complete(self) -> None:
        self._has_ended = self._has_ended or self._has_head


async def _connect(url: httpx2.URL, seconds: float | None) -> UpstreamConnection:
    try:
        async with asyncio.timeout(seconds):
            _, connection = await asyncio.get_running_loop().create_connection(
                UpstreamConnection, url.host, url.port or 80
            )
    except TimeoutError:
        raise httpx2.ConnectTimeout("The upstream took too long to connect.") from None
    except OSError as error:
        raise httpx2.ConnectError(str(error)) from error
    return connection
