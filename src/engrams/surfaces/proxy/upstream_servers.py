"""Upstream model servers: URLs, headers, failures, routes by model and lists of models."""

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
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_CONNECT_SECONDS = 10.0
_UNAVAILABLE = (502, 503, 504)
"""Statuses of a server that cannot answer now."""

_LIST_SECONDS = 10.0
"""Time for a server to list its models."""

_log = logging.getLogger("engrams.proxy")


class UpstreamServer:
    """OpenAI-compatible server.

    ``setting``: the setting that names it. SettingsError: its address is not an http(s) URL.
    """

    def __init__(self, url: str, key: str, timeout: float, setting: str = "serve.upstream") -> None:
        try:
            self._base = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise SettingsError(
                f"{setting} is not a URL: {error}.", hint="For example http://localhost:11434/v1."
            ) from None
        if self._base.scheme not in ("http", "https") or not self._base.host:
            raise SettingsError(
                f"{setting} must be an http or https URL.",
                hint="For example http://localhost:11434/v1.",
            )
        self._key = key
        self._setting = setting
        self._is_failing = False
        is_local = self._base.host in _LOCAL_HOSTS
        self._client = httpx2.AsyncClient(
            transport=UpstreamTransport() if is_local and self._base.scheme == "http" else None,
            timeout=httpx2.Timeout(timeout, connect=min(_CONNECT_SECONDS, timeout)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            # A company's proxy (HTTP_PROXY) does not lead to a model server on this machine.
            trust_env=not is_local,
        )

    @property
    def address(self) -> str:
        """Base URL without its password."""
        return str(self._base.copy_with(userinfo=b""))

    def is_at(self, url: str) -> bool:
        """True where a URL leads to this server."""
        address = httpx2.URL(url)
        hosts = {self._base.host, address.host}
        is_same_host = len(hosts) == 1 or hosts.issubset(_LOCAL_HOSTS)
        return is_same_host and self._base.port == address.port

    async def close(self) -> None:
        """Close the connections."""
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

    def request_headers(self, sent: Iterable[tuple[bytes, bytes]], *drop: bytes) -> RawHeaders:
        """Build request headers of those that a client sent; its own key wins over ours."""
        pairs = [(name.lower(), value) for name, value in sent]
        dropped = _HOP_HEADERS | _hop_headers(pairs) | {b"host", b"expect", *drop}
        headers = [
            (name, value)
            for name, value in pairs
            if name not in dropped and not name.startswith(b"x-engrams-")
        ]
        has_own_key = any(
            name in _KEY_HEADERS and not _is_placeholder(value) for name, value in headers
        )
        if not self._key or has_own_key:
            return headers
        if any(name in (b"anthropic-version", b"x-api-key") for name, _ in headers):
            key_header = (b"x-api-key", self._key.encode())
        else:
            key_header = (b"authorization", f"Bearer {self._key}".encode())
        return [
            *((name, value) for name, value in headers if name not in _KEY_HEADERS),
            key_header,
        ]

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
            raise  # the client left while it sent: the server has no part in that
        except httpx2.HTTPError as error:
            self._log_change(type(error).__name__)
            raise
        is_unavailable = answer.status_code in _UNAVAILABLE
        self._log_change(f"status {answer.status_code}" if is_unavailable else "")
        return answer

    def _log_change(self, problem: str) -> None:
        """Log when the server begins to fail, and when it answers again.

        ``problem``: how it failed now; empty: it answered.
        """
        if self._is_failing == bool(problem):
            return
        self._is_failing = bool(problem)
        state = f"fails ({problem})" if problem else "answers again"
        _log.warning("the upstream %s %s", self.address, state)

    def unreachable_error(
        self, path: str, error: httpx2.HTTPError, note: dict[str, str] | None = None
    ) -> Response:
        """Build the answer for an upstream that does not answer."""
        is_late = isinstance(error, httpx2.TimeoutException)
        if is_late and not isinstance(error, httpx2.ConnectTimeout):
            text = (
                f"The upstream {self.address} did not answer in time. Try again, or raise"
                " `serve.timeout_seconds`."
            )
            return error_response(path, 504, text, "upstream_timeout", note)
        text = (
            f"The upstream {self.address} cannot be reached ({type(error).__name__}). Is it"
            f" running? `{self._setting}` names it."
        )
        return error_response(path, 502, text, "upstream_unreachable", note)


def _is_placeholder(value: bytes) -> bool:
    """Return True for a client's key that means the server's own."""
    return value.decode("latin-1").removeprefix("Bearer").strip() in ("", OWN_KEY)


class UpstreamRouter:
    """Upstream servers by model: first matching route, else the main one."""

    def __init__(self, settings: ServeSettings) -> None:
        timeout = settings.timeout_seconds
        self.main: UpstreamServer | None = None
        if settings.upstream:
            self.main = UpstreamServer(settings.upstream, settings.upstream_key, timeout)
        self.routes = tuple(
            (route.models, UpstreamServer(route.url, route.key, timeout, "serve.routes"))
            for route in settings.routes
        )
        """Patterns of models, with the server that has them."""

    def __bool__(self) -> bool:
        return self.main is not None or bool(self.routes)

    def find(self, model: str) -> UpstreamServer | None:
        """Find the server of a model; None: there is none."""
        for patterns, server in self.routes:
            if _matches(model, patterns):
                return server
        return self.main

    async def close(self) -> None:
        """Close all connections."""
        for server in (self.main, *(server for _, server in self.routes)):
            if server is not None:
                await server.close()


def _matches(model: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)


def no_upstream_error(path: str, model: str) -> Response:
    """Build the answer for a model without a server."""
    text = f"No upstream has the model {model!r}. `serve.routes` and `serve.upstream` name them."
    return error_response(path, 404, text, "model_not_found")


def response_headers(answer: httpx2.Response, *, decoded: bool) -> RawHeaders:
    """Filter response headers; ``decoded`` drops length and coding."""
    pairs = [(name.lower(), value) for name, value in answer.headers.raw]
    dropped = _HOP_HEADERS | _hop_headers(pairs)
    if decoded:
        dropped |= {b"content-length", b"content-encoding"}
    return [(name, value) for name, value in pairs if name not in dropped]


def _hop_headers(pairs: RawHeaders) -> frozenset[bytes]:
    """Collect the headers that ``Connection`` limits to this hop."""
    values = (value for name, value in pairs if name == b"connection")
    return frozenset(name.strip().lower() for value in values for name in value.split(b","))


class UpstreamModelLister:
    """Model lists of all upstreams; failing ones are left out."""

    def __init__(self, upstreams: UpstreamRouter) -> None:
        self._upstreams = upstreams

    async def models(self, request: Request) -> Response:
        """Answer ``GET /v1/models``."""
        return await self._merge_lists(request, "/v1/models", "data", "id", {"object": "list"})

    async def tags(self, request: Request) -> Response:
        """Answer Ollama's ``GET /api/tags``."""
        return await self._merge_lists(request, "/api/tags", "models", "name", {})

    async def _merge_lists(
        self, request: Request, path: str, key: str, id_field: str, head: dict[str, Json]
    ) -> Response:
        """Merge the main server's models with those routed to the others.

        ``path``: where a server lists them; ``key``: the member that holds the list; ``id_field``: the member that names a model.
        """
        servers: list[tuple[tuple[str, ...], UpstreamServer]] = [*self._upstreams.routes]
        if self._upstreams.main is not None:
            servers.append((("*",), self._upstreams.main))
        lists = await asyncio.gather(
            *(self._list_models(server, request, path, key) for _, server in servers)
        )
        models: dict[str, Json] = {}
        for (patterns, _), items in zip(servers, lists, strict=True):
            for item in items or ():
                model = item.get(id_field) if isinstance(item, dict) else None
                if isinstance(model, str) and _matches(model, patterns):
                    models.setdefault(model, item)
        if all(items is None for items in lists):
            text = "No upstream answered. Are they running? `serve.routes` names them."
            return error_response(path, 502, text, "upstream_unreachable")
        return Response(
            json.dumps({**head, key: list(models.values())}), media_type="application/json"
        )

    async def _list_models(
        self, server: UpstreamServer, request: Request, path: str, key: str
    ) -> list[Json] | None:
        """List the models of one server; None: it does not answer."""
        headers = server.request_headers(request.headers.raw, b"accept-encoding", b"content-length")
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                answer = await server.send("GET", server.url_for(path.encode()), headers, None)
                body = json.loads(await answer.aread())
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
            return None
        items = body.get(key) if isinstance(body, dict) and answer.status_code == 200 else None
        return items if isinstance(items, list) else None
