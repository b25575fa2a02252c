"""Upstream model servers: URLs, headers, failures and their models."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable
from fnmatch import fnmatchcase
from typing import TypeAlias

import httpx2
from starlette.requests import Request
from starlette.responses import Response

from engrams.core import Json
from engrams.errors import SettingsError
from engrams.settings import ServeSettings
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.upstream_transport import UpstreamTransport

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

OWN_KEY = "engrams"
"""Key that clients send to use the server's own."""

_HOP_HEADERS = frozenset(
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
_KEY_HEADERS = (b"authorization", b"x-api-key")
_HERE = ("localhost", "127.0.0.1", "::1")
_CONNECT_SECONDS = 10.0
_AWAY = (502, 503, 504)
"""Statuses of a server that cannot answer now."""

_log = logging.getLogger("engrams.proxy")


_SECONDS = 10.0


class UpstreamServer:
    """OpenAI-compatible server.

    ``setting``: the setting that names it. SettingsError: its address is not an http(s) URL.
    """

    def __init__(self, url: str, key: str, timeout: float, setting: str = "serve.upstream") -> None:
        try:
            self._base = httpx2.URL(url)
        except httpx2.InvalidURL as fault:
            raise SettingsError(
                f"{setting} is not a URL: {fault}.", hint="For example http://localhost:11434/v1."
            ) from None
        if self._base.scheme not in ("http", "https") or not self._base.host:
            raise SettingsError(
                f"{setting} must be an http or https URL.",
                hint="For example http://localhost:11434/v1.",
            )
        self._key = key
        self._setting = setting
        self._fails = False
        near = self._base.host in _HERE
        self._client = httpx2.AsyncClient(
            transport=UpstreamTransport() if near and self._base.scheme == "http" else None,
            timeout=httpx2.Timeout(timeout, connect=min(_CONNECT_SECONDS, timeout)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            # A company's proxy (HTTP_PROXY) does not lead to a model server on this machine.
            trust_env=not near,
        )

    @property
    def address(self) -> str:
        """Base URL without its password."""
        return str(self._base.copy_with(userinfo=b""))

    def is_at(self, url: str) -> bool:
        """True where a URL leads to this server."""
        other = httpx2.URL(url)
        near = self._base.host in _HERE and other.host in _HERE
        return self._base.port == other.port and (near or self._base.host == other.host)

    async def close(self) -> None:
        await self._client.aclose()

    def url_for(self, path: bytes, query: bytes = b"") -> httpx2.URL:
        """Build the URL of a path.

        A base URL with a path (``…/v1``) stands for our ``/v1``, as for any OpenAI client; a bare
        host takes every path.
        """
        prefix = self._base.raw_path.split(b"?")[0].rstrip(b"/")
        if prefix and (path == b"/v1" or path.startswith(b"/v1/")):
            path = prefix + path[3:]
        elif prefix:
            path = prefix.removesuffix(b"/v1") + path
        return self._base.copy_with(raw_path=path + (b"?" + query if query else b""))

    def request_headers(self, given: Iterable[tuple[bytes, bytes]], *drop: bytes) -> RawHeaders:
        """Build request headers; the client's own key wins over ours."""
        pairs = [(name.lower(), value) for name, value in given]
        gone = _HOP_HEADERS | _hop_headers(pairs) | {b"host", b"expect", *drop}
        kept = [
            (name, value)
            for name, value in pairs
            if name not in gone and not name.startswith(b"x-engrams-")
        ]
        if not self._key or any(
            name in _KEY_HEADERS and not _is_placeholder(value) for name, value in kept
        ):
            return kept
        anthropic = any(name in (b"anthropic-version", b"x-api-key") for name, _ in kept)
        ours = (
            (b"x-api-key", self._key.encode())
            if anthropic
            else (b"authorization", f"Bearer {self._key}".encode())
        )
        return [*((name, value) for name, value in kept if name not in _KEY_HEADERS), ours]

    async def send(
        self,
        method: str,
        url: httpx2.URL,
        headers: RawHeaders,
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx2.Response:
        """Send a request and return the answer with its body unread.

        httpx2.HTTPError: there is no answer.
        """
        request = httpx2.Request(method, url, headers=headers, content=content)
        try:
            answer = await self._client.send(request, stream=True)
        except httpx2.WriteError:
            raise  # a client that leaves while it sends says nothing of the server
        except httpx2.HTTPError as fault:
            self._note_state(type(fault).__name__)
            raise
        self._note_state(f"status {answer.status_code}" if answer.status_code in _AWAY else "")
        return answer

    def _note_state(self, problem: str) -> None:
        """Log when the server begins to fail, and when it answers again."""
        if self._fails != bool(problem):
            self._fails = bool(problem)
            _log.warning(
                "the upstream %s %s",
                self.address,
                f"fails ({problem})" if problem else "answers again",
            )

    def unreachable_error(
        self, path: str, fault: httpx2.HTTPError, note: dict[str, str] | None = None
    ) -> Response:
        """Build the answer for an upstream that does not answer."""
        if isinstance(fault, httpx2.TimeoutException) and not isinstance(
            fault, httpx2.ConnectTimeout
        ):
            text = (
                f"The upstream {self.address} did not answer in time. Try again, or raise"
                " `serve.timeout_seconds`."
            )
            return error_response(path, 504, text, "upstream_timeout", note)
        text = (
            f"The upstream {self.address} cannot be reached ({type(fault).__name__}). Is it"
            f" running? `{self._setting}` names it."
        )
        return error_response(path, 502, text, "upstream_unreachable", note)


def _is_placeholder(value: bytes) -> bool:
    """Return True for a client's key that means the server's own."""
    return value.decode("latin-1").removeprefix("Bearer").strip() in ("", OWN_KEY)


class UpstreamRouter:
    """Upstream servers by model: first matching route, else the main one."""

    def __init__(self, settings: ServeSettings) -> None:
        self.main = (
            UpstreamServer(settings.upstream, settings.upstream_key, settings.timeout_seconds)
            if settings.upstream
            else None
        )
        self.routes = tuple(
            (
                route.models,
                UpstreamServer(route.url, route.key, settings.timeout_seconds, "serve.routes"),
            )
            for route in settings.routes
        )

    def __bool__(self) -> bool:
        return self.main is not None or bool(self.routes)

    def find(self, model: str) -> UpstreamServer | None:
        """Find the server of a model; None: there is none."""
        return next(
            (
                server
                for models, server in self.routes
                if any(fnmatchcase(model, one) for one in models)
            ),
            self.main,
        )

    async def close(self) -> None:
        for server in (self.main, *(server for _, server in self.routes)):
            if server is not None:
                await server.close()


def no_upstream_error(path: str, model: str) -> Response:
    """Build the answer for a model without a server."""
    text = f"No upstream has the model {model!r}. `serve.routes` and `serve.upstream` name them."
    return error_response(path, 404, text, "model_not_found")


def response_headers(answer: httpx2.Response, *, decoded: bool) -> RawHeaders:
    """Filter response headers; ``decoded`` drops length and coding."""
    pairs = [(name.lower(), value) for name, value in answer.headers.raw]
    gone = (
        _HOP_HEADERS
        | _hop_headers(pairs)
        | ({b"content-length", b"content-encoding"} if decoded else set())
    )
    return [(name, value) for name, value in pairs if name not in gone]


def _hop_headers(pairs: RawHeaders) -> frozenset[bytes]:
    """Collect the headers that ``Connection`` limits to this hop."""
    values = (value for name, value in pairs if name == b"connection")
    return frozenset(part.strip().lower() for value in values for part in value.split(b","))


class UpstreamModelLister:
    """Model lists of all upstreams; failing ones are left out."""

    def __init__(self, upstreams: UpstreamRouter) -> None:
        self._upstreams = upstreams

    async def models(self, request: Request) -> Response:
        """Answer ``GET /v1/models``."""
        return await self._merge_lists(request, "data", "id", {"object": "list"})

    async def tags(self, request: Request) -> Response:
        """Answer Ollama's ``GET /api/tags``."""
        return await self._merge_lists(request, "models", "name", {})

    async def _merge_lists(
        self, request: Request, key: str, name: str, head: dict[str, Json]
    ) -> Response:
        """Merge the main server's models with those routed to the others."""
        servers: list[tuple[tuple[str, ...], UpstreamServer]] = [*self._upstreams.routes]
        if self._upstreams.main is not None:
            servers.append((("*",), self._upstreams.main))
        lists = await asyncio.gather(
            *(self._list_models(server, request, key) for _, server in servers)
        )
        found: dict[str, Json] = {}
        for (models, _), items in zip(servers, lists, strict=True):
            for item in items or ():
                known = item.get(name) if isinstance(item, dict) else None
                if isinstance(known, str) and any(fnmatchcase(known, one) for one in models):
                    found.setdefault(known, item)
        if all(items is None for items in lists):
            text = "No upstream answered. Are they running? `serve.routes` names them."
            return error_response(request.url.path, 502, text, "upstream_unreachable")
        return Response(
            json.dumps({**head, key: list(found.values())}), media_type="application/json"
        )

    async def _list_models(
        self, server: UpstreamServer, request: Request, key: str
    ) -> list[Json] | None:
        """List the models of one server; None: it does not answer."""
        headers = server.request_headers(request.headers.raw, b"accept-encoding", b"content-length")
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await server.send(
                    "GET", server.url_for(request.url.path.encode()), headers, None
                )
                body = json.loads(await answer.aread())
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
            return None
        items = body.get(key) if isinstance(body, dict) and answer.status_code == 200 else None
        return items if isinstance(items, list) else None
