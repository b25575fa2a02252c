"""Another engrams server as a place: it stores sealed files for an API key, and can read none."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

import httpx2

from engrams.errors import InputError, StoreError
from engrams.models.http_client import is_local
from engrams.sync.places import PlaceAccess, PlaceFile
from engrams.sync.web_client import WebClient

_SCHEME = "engrams+"
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
        self._client = WebClient(
            self.address, url, headers={"authorization": f"Bearer {access.password}"}
        )
        self._url = url

    def prepare(self) -> None:
        """Do nothing: the server makes what it needs."""

    def list(self) -> frozenset[PlaceFile]:
        content = self._request("GET", "") or b""
        try:
            listed: list[str] = json.loads(content)["files"]
            files = {PlaceFile.parse(path) for path in listed}
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

    def remove(self, files: Collection[PlaceFile]) -> None:
        for file in files:
            self._request("DELETE", f"/{file.path}")

    def _request(self, method: str, path: str, data: bytes | None = None) -> bytes | None:
        """Send a request; return the answer, None where there is no such file."""
        answer = self._client.request(method, self._url + _PATH + path, data)
        if answer.status == httpx2.codes.NOT_FOUND and method == "GET" and path:
            return None
        if answer.status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise StoreError(
                f"{self.address} does not take the API key.",
                hint="`engrams sync move` takes another. It needs the rights to read and to write.",
            )
        if not answer.is_good:
            raise StoreError(
                f"{self.address} answers {answer.status}.", hint="See its log, and repeat it."
            )
        return answer.body
