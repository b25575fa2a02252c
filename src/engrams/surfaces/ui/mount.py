"""Mount of the web page: ``GET /`` and its files."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.ui.assets import PREFIX, PageFile, PageFiles
from engrams.types import Json

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""No foreign or inline code and no markup from text: stored text is never trusted."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "vary": "accept-encoding",
}
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"


class PageMount:
    """Serve the page's static files; its data comes from the API."""

    def __init__(self) -> None:
        self._files = PageFiles()

    def install(self, app: FastAPI) -> None:
        app.router.routes.append(Route("/", self._index, methods=["GET"], include_in_schema=False))
        app.router.routes.append(Route(PREFIX + "{mark}/{path:path}", self._file, methods=["GET"], include_in_schema=False))

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
        return self._answer(request, self._files.get(request.path_params["path"]), _CACHE_FOREVER if current else _REVALIDATE)

    def _answer(self, request: Request, asset: PageFile | None, cache_control: str) -> Response:
        if asset is None:
            return Response("There is no such file.", 404, _HEADERS, "text/plain; charset=utf-8")
        headers = {**_HEADERS, "etag": asset.etag, "cache-control": cache_control}
        if asset.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if asset.packed and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(asset.packed, headers={**headers, "content-encoding": "gzip"}, media_type=asset.media)
        return Response(asset.body, headers=headers, media_type=asset.media)


def create_mount(engine: MemoryEngine, settings: Settings) -> PageMount:  # noqa: ARG001 - the signature of every mount
    """Create the page mount."""
    return PageMount()
