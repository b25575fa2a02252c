"""The server behind us: where a path goes, which headers travel, and what its failures look like."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from fnmatch import fnmatchcase
from typing import TypeAlias

import httpx2
from starlette.responses import Response

from engrams.errors import SettingsError
from engrams.settings import ServeSettings
from engrams.surfaces.proxy.errors import failure

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

OWN_KEY = "engrams"
"""A client that must send some key sends this one to mean the server's own."""

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"trailers",
        b"transfer-encoding",
        b"upgrade",
    }
)
_HERE = ("localhost", "127.0.0.1", "::1")
_CONNECT_SECONDS = 10.0


class Upstream:
    """One OpenAI-compatible server. SettingsError: its address is not an http(s) URL. ``setting``: what names it."""

    def __init__(self, url: str, key: str, timeout: float, setting: str = "serve.upstream") -> None:
        try:
            self._base = httpx2.URL(url)
        except httpx2.InvalidURL as fault:
            raise SettingsError(f"{setting} is not a URL: {fault}.", hint="For example http://localhost:11434/v1.") from None
        if self._base.scheme not in ("http", "https") or not self._base.host:
            raise SettingsError(f"{setting} must be an http or https URL.", hint="For example http://localhost:11434/v1.")
        self._key, self._setting = key, setting
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=min(_CONNECT_SECONDS, timeout)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            # A company's proxy (HTTP_PROXY) does not lead to a model server on this machine.
            trust_env=self._base.host not in _HERE,
        )

    @property
    def address(self) -> str:
        """The base URL as it may be shown: without a password."""
        return str(self._base.copy_with(userinfo=b""))

    async def close(self) -> None:
        await self._client.aclose()

    def target(self, path: bytes, query: bytes = b"") -> httpx2.URL:
        """A base URL with a path (``…/v1``) stands for our ``/v1``, as for any OpenAI client; a bare host takes every path."""
        prefix = self._base.raw_path.split(b"?")[0].rstrip(b"/")
        if prefix and (path == b"/v1" or path.startswith(b"/v1/")):
            path = prefix + path[3:]
        elif prefix:
            path = prefix.removesuffix(b"/v1") + path
        return self._base.copy_with(raw_path=path + (b"?" + query if query else b""))

    def headers(self, given: Iterable[tuple[bytes, bytes]], *drop: bytes) -> RawHeaders:
        """The client's headers as they go up. Its own bearer token wins over the configured key."""
        pairs = [(name.lower(), value) for name, value in given]
        gone = _HOP | _listed(pairs) | {b"host", b"expect", *drop}
        kept = [(name, value) for name, value in pairs if name not in gone and not name.startswith(b"x-engrams-")]
        token = next((value for name, value in kept if name == b"authorization"), b"").decode("latin-1")
        if self._key and token.removeprefix("Bearer").strip() in ("", OWN_KEY):
            kept = [(name, value) for name, value in kept if name != b"authorization"]
            kept.append((b"authorization", f"Bearer {self._key}".encode()))
        return kept

    async def send(
        self, method: str, url: httpx2.URL, headers: RawHeaders, content: bytes | AsyncIterator[bytes] | None
    ) -> httpx2.Response:
        """The answer, its body still to be read. httpx2.HTTPError: there is none."""
        request = httpx2.Request(method, url, headers=headers, content=content)
        return await self._client.send(request, stream=True)

    def unreachable(self, fault: httpx2.HTTPError, note: dict[str, str] | None = None) -> Response:
        """What the client is told when there is no answer."""
        if isinstance(fault, httpx2.TimeoutException) and not isinstance(fault, httpx2.ConnectTimeout):
            text = f"The upstream {self.address} did not answer in time. Try again, or raise `serve.timeout_seconds`."
            return failure(504, text, "upstream_timeout", note)
        text = f"The upstream {self.address} cannot be reached ({type(fault).__name__}). Is it running? `{self._setting}` names it."
        return failure(502, text, "upstream_unreachable", note)


class Upstreams:
    """Every server behind us, and which of them a model is on: the first route whose patterns match, else ``serve.upstream``."""

    def __init__(self, settings: ServeSettings) -> None:
        self.main = Upstream(settings.upstream, settings.upstream_key, settings.timeout_seconds) if settings.upstream else None
        self.routes = tuple((route.models, Upstream(route.url, route.key, settings.timeout_seconds, "serve.routes")) for route in settings.routes)

    def __bool__(self) -> bool:
        return self.main is not None or bool(self.routes)

    def of(self, model: str) -> Upstream | None:
        """None: no server has it."""
        return next((server for models, server in self.routes if any(fnmatchcase(model, one) for one in models)), self.main)

    async def close(self) -> None:
        for server in (self.main, *(server for _, server in self.routes)):
            if server is not None:
                await server.close()


def unrouted(model: str) -> Response:
    """What the client is told of a model that is on no server."""
    return failure(404, f"No upstream has the model {model!r}. `serve.routes` and `serve.upstream` name them.", "model_not_found")


def down(answer: httpx2.Response, *, decoded: bool) -> RawHeaders:
    """The upstream's headers as they go down; with ``decoded`` the body's length and coding are no longer what they say."""
    pairs = [(name.lower(), value) for name, value in answer.headers.raw]
    gone = _HOP | _listed(pairs) | ({b"content-length", b"content-encoding"} if decoded else set())
    return [(name, value) for name, value in pairs if name not in gone]


def _listed(pairs: RawHeaders) -> frozenset[bytes]:
    """The headers that ``Connection`` names are for this hop only."""
    values = (value for name, value in pairs if name == b"connection")
    return frozenset(part.strip().lower() for value in values for part in value.split(b","))
