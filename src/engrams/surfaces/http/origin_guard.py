"""Block requests of foreign web pages (DNS rebinding, cross-origin calls).

A page of any site can send requests to this machine. Its browser names the page in ``Origin``, and
the name by which it found the server in ``Host``: both are checked before anything else. Pictures and
frames have no ``Origin``; ``Sec-Fetch-Site`` tells of them.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
_EXPOSED = b"etag, location, retry-after, x-request-id"
_CONTAINER_NAMES = (".docker.internal", ".containers.internal")


class OriginGuardMiddleware:
    """Refuse (403) foreign ``Host``, ``Origin`` and ``Sec-Fetch-Site`` headers, and (400) two hosts.

    An address is safe, since DNS rebinding needs a name; so is a name without a dot, which nobody
    can register; so are the names under which containers know their host, ``own_host``, the name
    that the server was told to listen on, and ``allowed_hosts``, those of a reverse proxy. Pages of
    ``allowed_origins`` may call and read the answers (CORS).
    """

    def __init__(
        self,
        app: ASGIApp,
        own_host: str,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._hosts = {host.casefold() for host in (own_host, *allowed_hosts)}
        self._origins = {origin.casefold().rstrip("/") for origin in allowed_origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            await _refuse("host", "Host", scope, receive, send, status=400)
            return
        host = headers.get(b"host", b"").decode("latin-1").casefold()
        origin = headers.get(b"origin", b"").decode("latin-1").casefold()
        if host and not self._is_trusted(host_name(host)):
            await _refuse("host", "Host", scope, receive, send)
        elif origin in self._origins and origin:
            await self._answer_allowed_origin(headers, scope, receive, send)
        elif origin and not _is_local(origin) and urlsplit(origin).netloc != host:
            await _refuse("origin", "Origin", scope, receive, send)
        elif not origin and _is_embedded_elsewhere(headers):
            await _refuse("site", "Sec-Fetch-Site", scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer_allowed_origin(
        self, headers: dict[bytes, bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer an allowed origin: preflights here, other requests with CORS headers."""
        allowing = [(b"access-control-allow-origin", headers[b"origin"]), (b"vary", b"Origin")]
        is_preflight = (
            scope["type"] == "http"
            and scope["method"] == "OPTIONS"
            and b"access-control-request-method" in headers
        )
        if is_preflight:
            allowing += [
                (b"access-control-allow-methods", _METHODS),
                (
                    b"access-control-allow-headers",
                    headers.get(b"access-control-request-headers", b"authorization, content-type"),
                ),
                (b"access-control-max-age", b"600"),
            ]
            await send({"type": "http.response.start", "status": 204, "headers": allowing})
            await send({"type": "http.response.body", "body": b""})
            return
        allowing.append((b"access-control-expose-headers", _EXPOSED))

        async def send_allowing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *allowing]}
            await send(message)

        await self._app(scope, receive, send_allowing)

    def _is_trusted(self, name: str) -> bool:
        return (
            name in self._hosts
            or "." not in name
            or name.endswith((".localhost", *_CONTAINER_NAMES))
            or _parse_address(name) is not None
        )


def host_name(host: str) -> str:
    """Strip the port from a host; ``::1`` of ``[::1]:8100``."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_loopback(name: str) -> bool:
    """Return True for names and addresses of this machine alone."""
    address = _parse_address(name)
    return (
        name == "localhost"
        or name.endswith(".localhost")
        or (address is not None and address.is_loopback)
    )


def _parse_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_local(origin: str) -> bool:
    """Accept pages of this machine and of programs (``app://``, ``vscode-webview://``)."""
    parts = urlsplit(origin)
    if parts.scheme in ("http", "https"):
        return is_loopback(host_name(parts.netloc))
    return bool(parts.scheme)


def _is_embedded_elsewhere(headers: dict[bytes, bytes]) -> bool:
    """Test for a picture, a frame or a script of another site, for which no origin is sent.

    A link that somebody follows opens a page of its own, which is allowed.
    """
    is_link = (headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")) == (
        b"navigate",
        b"document",
    )
    return headers.get(b"sec-fetch-site") == b"cross-site" and not is_link


async def _refuse(
    code: str, header: str, scope: Scope, receive: Receive, send: Send, status: int = 403
) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    text = (
        f"This {header} header is not allowed here. Use an address such as http://127.0.0.1, or"
        " localhost."
    )
    body = {
        "error": {
            "message": text,
            "type": "invalid_request_error",
            "param": None,
            "code": f"forbidden_{code}",
        }
    }
    await Response(json.dumps(body), status, media_type="application/json")(scope, receive, send)
