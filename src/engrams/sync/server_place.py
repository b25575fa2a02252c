"""Another engrams server as a place: it stores sealed files for an API key, and can read none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2

from engrams.errors import InputError, StoreError
from engrams.models.http_client import is_local
from engrams.sync.places import PlaceAccess, PlaceFile

_SCHEME = "engrams+"
_SECONDS = 300.0
"""Seconds that one request may take."""
_SILENCE = 30.0
"""Seconds between two pieces of an answer."""
_LARGEST = 64_000_000
"""Bytes of an answer that are taken."""
_PATH = "/v1/place"


class ServerPlace:
    """The routes ``/v1/place`` of a server, such as ``engrams+https://memory.example.org``."""

    remains = ""

    def __init__(self, address: str, access: PlaceAccess) -> None:
        """Set the place up. InputError: the key would be sent in the open."""
        url = address.removeprefix(_SCHEME).rstrip("/").removesuffix("/v1")
        host = urlsplit(url).netloc
        if url.startswith("http://") and not is_local(host):
            raise InputError(
                "http:// would send the API key in the open.", hint=f"Use engrams+https://{host}."
            )
        self.address = _SCHEME + url
        self._client = httpx2.Client(
            headers={"authorization": f"Bearer {access.password}"},
            timeout=httpx2.Timeout(_SILENCE),
            trust_env=not is_local(host),
        )
        self._url = url

    def list(self) -> frozenset[PlaceFile]:
        content = self._request("GET", "")
        try:
            response: list[str] = httpx2.Response(200, content=content).json()["files"]
            files = {PlaceFile.parse(path) for path in response}
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"{self.address} is no engrams server that carries files.",
                hint="See whether the address is right, and the server's engrams new enough.",
            ) from None
        return frozenset(file for file in files if file is not None)

    def read(self, file: PlaceFile) -> bytes | None:
        return self._request("GET", f"/{file.path}")

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        for file, data in files.items():
            self._request("PUT", f"/{file.path}", data)

    def _request(self, method: str, path: str, data: bytes | None = None) -> bytes | None:
        """Send a request; return the answer, None where there is no such file."""
        deadline = time.monotonic() + _SECONDS
        content = bytearray()
        try:
            with self._client.stream(method, self._url + _PATH + path, content=data) as response:
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > _LARGEST or time.monotonic() > deadline:
                        raise StoreError(
                            f"{self.address} sends too much, or too slowly.",
                            hint="Repeat it; if it stays so, ask who runs the server.",
                        )
        except httpx2.HTTPError as problem:
            raise StoreError(
                f"{self.address} cannot be reached: {str(problem)[:200] or type(problem).__name__}.",
                hint="See whether the server runs, and repeat it.",
            ) from problem
        status = response.status_code
        if status == httpx2.codes.NOT_FOUND and method == "GET" and path:
            return None
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise StoreError(
                f"{self.address} does not take the API key.",
                hint="`engrams sync move` takes another. It needs the rights to read and to write.",
            )
        if not response.is_success:
            raise StoreError(
                f"{self.address} answers {status}.", hint="See its log, and repeat it."
            )
        return bytes(content)
