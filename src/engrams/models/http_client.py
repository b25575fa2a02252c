"""Post JSON over HTTP with one deadline for the whole call.

It bounds name lookup, connecting and every byte of the answer. A synchronous HTTP client only
bounds each single read, so a server that sends a byte now and then holds its caller for ever. Here
calls run on an event loop of their own, where a deadline cancels the call and closes the socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import threading
import time
import weakref
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar

from engrams.core import Json
from engrams.errors import ModelError, SettingsError

if TYPE_CHECKING:
    import httpx2

_Result = TypeVar("_Result")
_LARGEST = 16_000_000
_CONNECTIONS = 64
# What a thread can be told to wait; infinity is too much.
_LONGEST = 86_400.0
# Labels of at most 63 characters, as name lookup demands, or an IPv6 address.
_HOST = re.compile(
    r"(?=.{1,253}\Z)([\w-]{1,63})(\.[\w-]{1,63})*\.?|[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?",
    re.ASCII | re.IGNORECASE,
)
# The loop keeps the deadline; the waiting thread only needs one for a loop that stopped under it.
_GRACE = 5.0


_CLOSED = "The connection to the model was closed."
_SLOW = "Is the server overloaded? Raise `chat.timeout_seconds`, or choose a smaller model."


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """HTTP answer."""

    status: int
    headers: Mapping[str, str]
    """Name in lower case -> value."""
    body: bytes
    first_seconds: float = 0.0
    """Seconds from the request to the first byte of the body."""

    def json(self) -> Json:
        """Parse the body; None where it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class HttpTimeouts:
    """Time limits of a call, in seconds: connecting, and between bytes."""

    connect: float = 10.0
    silence: float = 60.0


class HttpClient:
    """Client of one server; threads share it and its open connections."""

    def __init__(
        self, url: str, headers: Mapping[str, str], waits: HttpTimeouts | None = None
    ) -> None:
        """Check the address and headers. SettingsError: one cannot be used."""
        self.url = parse_address(url)
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json",
            **headers,
        }
        if not all(value.isascii() and value.isprintable() for value in self._headers.values()):
            raise SettingsError(
                "The key contains characters that an HTTP header cannot contain.",
                hint="Copy it again, without line breaks.",
            )
        self._waits = waits or HttpTimeouts()
        self._lock = threading.Lock()
        self._loop: _HttpLoop | None = None
        self._closed = False

    def post(self, path: str, body: Json, seconds: float) -> HttpResponse:
        """Post JSON; return the answer, of any status.

        ModelError (retryable): no complete answer within ``seconds``.
        """
        response = self.fetch(path, body, seconds)
        if response is None:
            raise ModelError(
                f"{self.host} gave no complete answer within {seconds:.3g} seconds.", hint=_SLOW
            )
        return response

    def get(self, path: str, seconds: float) -> HttpResponse:
        """Get a page of the server, of any status.

        ModelError: no complete answer.
        """
        response = self._request("GET", path, b"", seconds)
        if response is None:
            raise ModelError(
                f"{self.host} gave no complete answer within {seconds:.3g} seconds.", hint=_SLOW
            )
        return response

    def fetch(self, path: str, body: Json, seconds: float) -> HttpResponse | None:
        """Post JSON and return the response; None after a time-out."""
        # Lone surrogates cannot be sent; servers refuse them even when escaped.
        return self._request(
            "POST", path, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), seconds
        )

    def post_content(self, path: str, content: bytes, seconds: float) -> HttpResponse | None:
        """Post bytes of the kind that the headers name; None after a time-out."""
        return self._request("POST", path, content, seconds)

    def _request(
        self, method: str, path: str, content: bytes, seconds: float
    ) -> HttpResponse | None:
        engine = self._open_loop()
        seconds = min(seconds, _LONGEST)
        try:
            return engine.run(
                engine.request(method, self.url + path, content, self._headers, seconds),
                seconds + _GRACE,
            )
        except TimeoutError:
            return None

    @property
    def host(self) -> str:
        return _host(self.url)

    def close(self) -> None:
        """Cut running calls off; they raise ModelError."""
        with self._lock:
            engine = self._loop
            self._loop = None
            self._closed = True
        if engine is not None:
            engine.close()

    def _open_loop(self) -> _HttpLoop:
        with self._lock:
            if self._closed:
                raise ModelError(_CLOSED, hint="Open a new engine.")
            if self._loop is None or self._loop.process != os.getpid():
                # A forked child inherits the loop but not its thread.
                self._loop = _HttpLoop(self._waits, local=is_local(self.host))
            return self._loop


class _HttpLoop:
    """Event loop in a thread, with its HTTP client."""

    def __init__(self, waits: HttpTimeouts, *, local: bool) -> None:
        import httpx2

        self.process = os.getpid()
        self._silence = waits.silence
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(
                None, connect=waits.connect
            ),  # the deadline around each call bounds all of it
            verify=_load_certificates(),
            trust_env=not local,  # a proxy cannot reach this machine's own servers
            limits=httpx2.Limits(max_connections=_CONNECTIONS),
        )
        self._thread = threading.Thread(
            target=_run_loop, args=(self._loop, self._client), name="engrams-http", daemon=True
        )
        self._thread.start()
        self._stop = weakref.finalize(self, _stop, self._loop)

    def run(self, work: Coroutine[Any, Any, _Result], seconds: float) -> _Result:
        with self._lock:
            if not self._stop.alive:
                work.close()
                raise ModelError(_CLOSED, hint="Open a new engine.")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    async def request(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str], seconds: float
    ) -> HttpResponse:
        import httpx2

        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(method, url, content, headers)
        except httpx2.HTTPError as problem:
            raise _connection_error(url, problem) from None
        except asyncio.CancelledError:
            raise ModelError(_CLOSED, hint="Open a new engine.") from None

    async def _exchange(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str]
    ) -> HttpResponse:
        start = first = time.monotonic()
        async with self._client.stream(
            method, url, content=content, headers=dict(headers)
        ) as response:
            body = bytearray()
            chunks = response.aiter_bytes()
            while (chunk := await self._next_chunk(chunks, url)) is not None:
                first = time.monotonic() if not body else first
                body += chunk
                if len(body) > _LARGEST:
                    raise ModelError(
                        f"The answer of the model's server is larger than {_LARGEST:,} bytes.",
                        retryable=False,
                    )
            return HttpResponse(
                response.status_code,
                {name.lower(): value for name, value in response.headers.items()},
                bytes(body),
                first - start,
            )

    async def _next_chunk(self, chunks: AsyncIterator[bytes], url: str) -> bytes | None:
        """Read the next piece; None at the end.

        ModelError: the server fell silent.
        """
        try:
            async with asyncio.timeout(self._silence):
                return await anext(chunks, None)
        except TimeoutError:
            raise ModelError(
                f"{_host(url)} fell silent for {self._silence:.3g} seconds in its answer.",
                hint=_SLOW,
            ) from None

    def close(self) -> None:
        with self._lock:
            self._stop()
        self._thread.join(_GRACE)


@cache
def _load_certificates() -> ssl.SSLContext:
    """Load the certificates once: that takes longer than a local call."""
    import httpx2

    return httpx2.create_ssl_context()


def _run_loop(loop: asyncio.AbstractEventLoop, client: httpx2.AsyncClient) -> None:
    loop.run_forever()
    loop.run_until_complete(_cancel_calls(client))
    loop.close()


async def _cancel_calls(client: httpx2.AsyncClient) -> None:
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await client.aclose()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(loop.stop)


def _connection_error(url: str, problem: httpx2.HTTPError) -> ModelError:
    import httpx2

    host = _host(url)
    if isinstance(
        problem,
        httpx2.ConnectError
        | httpx2.ConnectTimeout
        | httpx2.UnsupportedProtocol
        | httpx2.ProxyError,
    ):
        return ModelError(
            f"No model server can be reached at {host}.",
            hint="Is it running, and is the address right?",
        )
    return ModelError(
        f"The connection to {host} broke before the answer was complete ({type(problem).__name__})."
    )


def _host(url: str) -> str:
    return url.split("://", 1)[1].split("/", 1)[0]


def parse_address(url: str) -> str:
    """Normalise a base URL. SettingsError: it is no http(s) address."""
    import httpx2

    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if (
        parsed.scheme not in ("http", "https")
        or not _HOST.fullmatch(parsed.raw_host.decode())
        or parsed.userinfo
    ):
        raise SettingsError(
            "The address of the model's server is not usable.",
            hint="Give it as https://host/v1, and a key as api_key.",
        )
    return str(parsed.copy_with(query=None, fragment=None)).rstrip("/")


def is_local(host: str) -> bool:
    """Return True for this machine; ``host`` may have a port."""
    name = host.rsplit(":", 1)[0].strip("[]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
