"""Mount of the web page: ``GET /`` and its files, compressed once.

Each file has an address with a digest of all of them in it, and so may be cached for ever.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engrams.core import LAYER_OF, PRODUCT, EdgeType, Json, Kind, Status, Tier
from engrams.model_setup import NO_CHAT

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "media-src blob:",
        "manifest-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types share",
    )
)
"""No foreign or inline code and no markup from text: stored text is never trusted.

The one trusted type is the fixed address of the worker that takes what other apps share.
"""

SHARE = "/ui/share"
"""Address to which a phone sends what is shared with the installed page; its worker takes that."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "vary": "accept-encoding",
    "service-worker-allowed": SHARE,
}
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"

PREFIX = "/ui/"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_MIN_PACKED_BYTES = 200
"""Smaller files are not compressed."""


class WebPageMount:
    """Routes that serve the web page's static files."""

    permissions = ()

    def __init__(self) -> None:
        self._files = PageFileCollection()

    def install(self, app: FastAPI) -> None:
        app.router.routes.append(Route("/", self._index, methods=["GET"], include_in_schema=False))
        app.router.routes.append(
            Route(
                PREFIX + "{mark}/{path:path}", self._file, methods=["GET"], include_in_schema=False
            )
        )

        app.router.routes.append(
            Route(SHARE, self._redirect_share, methods=["POST"], include_in_schema=False)
        )

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def health(self) -> Mapping[str, Json]:
        return {}

    async def _index(self, request: Request) -> Response:
        return self._answer(request, self._files.get("index.html"), _REVALIDATE)

    async def _file(self, request: Request) -> Response:
        current = request.path_params["mark"] == self._files.mark
        return self._answer(
            request,
            self._files.get(request.path_params["path"]),
            _CACHE_FOREVER if current else _REVALIDATE,
        )

    async def _redirect_share(self, _request: Request) -> Response:
        """Show the page: only its worker keeps what is shared, since a request has no key."""
        return Response(status_code=303, headers={**_HEADERS, "location": "/#/import"})

    def _answer(
        self, request: Request, asset: ServedPageFile | None, cache_control: str
    ) -> Response:
        if asset is None:
            return Response("There is no such file.", 404, _HEADERS, "text/plain; charset=utf-8")
        headers = {**_HEADERS, "etag": asset.etag, "cache-control": cache_control}
        if asset.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if asset.packed and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                asset.packed,
                headers={**headers, "content-encoding": "gzip"},
                media_type=asset.media,
            )
        return Response(asset.body, headers=headers, media_type=asset.media)


ROOT = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class ServedPageFile:
    """File as served."""

    body: bytes
    packed: bytes
    """Body by gzip; empty where that gains nothing."""

    media: str
    etag: str


class PageFileCollection:
    """Static files by path, read at the first request.

    ``mark`` is a digest of all of them and part of every address (``/ui/<mark>/app.js``): a browser
    may cache a file for ever and never mixes two versions.
    """

    def get(self, path: str) -> ServedPageFile | None:
        return self._files.get(path)

    @cached_property
    def mark(self) -> str:
        digest = hashlib.blake2b(digest_size=6)
        for path, body in sorted(self._bodies.items()):
            digest.update(path.encode() + b"\0" + body + b"\0")
        return digest.hexdigest()

    @cached_property
    def _bodies(self) -> Mapping[str, bytes]:
        """Contents by path, with the one module that is generated."""
        bodies = {
            path.relative_to(ROOT).as_posix(): _read(path)
            for path in ROOT.rglob("*")
            if path.suffix in _TYPES
        }
        return {**bodies, "js/words.js": vocabulary_module(language_names(bodies))}

    @cached_property
    def _files(self) -> Mapping[str, ServedPageFile]:
        page = self._bodies["index.html"].replace(PREFIX.encode(), f"{PREFIX}{self.mark}/".encode())
        return {
            path: _to_file(path, body)
            for path, body in {**self._bodies, "index.html": page}.items()
        }


def _read(path: Path) -> bytes:
    """Read a file as it is sent: JSON without the blanks that a translator needs."""
    body = path.read_bytes()
    if path.suffix != ".json":
        return body
    return json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()


def language_names(bodies: Mapping[str, bytes]) -> dict[str, str]:
    """Map the languages that have a file (``lang/de.json``) to their own names."""
    translations = {
        path.removeprefix("lang/").removesuffix(".json"): body
        for path, body in bodies.items()
        if path.startswith("lang/")
    }
    return {code: json.loads(body)["language"] for code, body in sorted(translations.items())}


def vocabulary_module(languages: Mapping[str, str]) -> bytes:
    """Build a JavaScript module of languages and the product's names."""
    tables = {
        "LANGUAGES": languages,
        "LAYERS": {layer.value: name for layer, name in PRODUCT.items()},
        "LAYER_OF": {kind.value: layer.value for kind, layer in LAYER_OF.items()},
        "KINDS": [kind.value for kind in Kind],
        "TIERS": [tier.value for tier in Tier],
        "STATUSES": [status.value for status in Status],
        "LINKS": [link.value for link in EdgeType],
        "NO_CHAT": NO_CHAT,
    }
    return "".join(
        f"export const {name} = {json.dumps(table)};\n" for name, table in tables.items()
    ).encode()


def _to_file(path: str, body: bytes) -> ServedPageFile:
    packed = gzip.compress(body, 9, mtime=0) if len(body) >= _MIN_PACKED_BYTES else b""
    return ServedPageFile(
        body,
        packed,
        _TYPES["." + path.rpartition(".")[2]],
        f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"',
    )
