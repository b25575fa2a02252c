"""Requests to a place on the web: bounded, repeated where that may help, and told as StoreError."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

import httpx2

from engrams.errors import StoreError
from engrams.models.http_client import is_local

_SECONDS = 300.0
"""Seconds that one request may take, with all its tries."""
_SILENCE = 30.0
"""Seconds between two pieces of an answer."""
_CONNECT = 10.0
"""Seconds until a connection stands."""
_LARGEST = 64_000_000
"""Bytes of an answer that are taken."""
_TRIES = 4
_PAUSE = 0.4
"""Seconds before the second try, twice as many before each later one, and up to half as many more."""
_LONGEST_PAUSE = 20.0
"""Seconds that a server may ask for."""
_MAY_HELP = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """Answer of a server, of any status."""

    status: int
    headers: Mapping[str, str]
    """Names are compared without case."""
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class WebClient:
    """Client of one place. Only requests that may be repeated go through it."""

    def __init__(
        self,
        address: str,
        url: str,
        *,
        auth: httpx2.Auth | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Set the client up. ``address``: the place as a person named it, for messages."""
        self.address = address
        self._client = httpx2.Client(
            auth=auth,
            headers=dict(headers or {}),
            timeout=httpx2.Timeout(_SILENCE, connect=_CONNECT),
            # A proxy cannot reach this machine's own servers; a password of ~/.netrc is of no use.
            trust_env=not is_local(urlsplit(url).netloc),
        )

    def request(
        self,
        method: str,
        url: str,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> WebAnswer:
        """Send a request; return the answer of the last try.

        StoreError: no try got a whole answer.
        """
        deadline = time.monotonic() + _SECONDS
        number = 0
        while True:
            number += 1
            is_last = number == _TRIES or time.monotonic() > deadline
            try:
                answer = self._send(method, url, data, headers, deadline)
            except httpx2.TransportError as problem:
                if is_last:
                    self._refuse(problem)
                _pause(number, "")
                continue
            except httpx2.HTTPError as problem:
                self._refuse(problem)
            if is_last or answer.status not in _MAY_HELP:
                return answer
            _pause(number, answer.headers.get("retry-after", ""))

    def _send(
        self,
        method: str,
        url: str,
        data: bytes | None,
        headers: Mapping[str, str] | None,
        deadline: float,
    ) -> WebAnswer:
        content = bytearray()
        with self._client.stream(method, url, content=data, headers=headers) as response:
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _LARGEST or time.monotonic() > deadline:
                    raise StoreError(
                        f"{self.address} sends too much, or too slowly.",
                        hint="Repeat it; if it stays so, ask who runs the server.",
                    )
        return WebAnswer(response.status_code, response.headers, bytes(content))

    def _refuse(self, problem: httpx2.HTTPError) -> NoReturn:
        raise StoreError(
            f"{self.address} cannot be reached: {str(problem)[:200] or type(problem).__name__}.",
            hint="See whether the server runs, and repeat it: what is missing is sent then.",
        ) from problem


def _pause(number: int, wanted: str) -> None:
    """Wait before the next try: as long as the server asks, or longer each time."""
    seconds = float(wanted) if wanted.isdecimal() else _PAUSE * 2 ** (number - 1)
    time.sleep(min(seconds, _LONGEST_PAUSE) * (1 + secrets.randbelow(500) / 1000))
