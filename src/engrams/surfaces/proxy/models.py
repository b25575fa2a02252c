"""Merged model list of several upstreams."""

from __future__ import annotations

import asyncio
import json
from fnmatch import fnmatchcase

import httpx2
from starlette.requests import Request
from starlette.responses import Response

from engrams.surfaces.proxy.errors import error_response
from engrams.surfaces.proxy.upstream import UpstreamRoutes, UpstreamServer
from engrams.types import Json

_SECONDS = 10.0


class ModelCatalogue:
    """Model lists of all upstreams; failing ones are left out."""

    def __init__(self, upstreams: UpstreamRoutes) -> None:
        self._upstreams = upstreams

    async def models(self, request: Request) -> Response:
        """Answer ``GET /v1/models``."""
        return await self._merge_lists(request, "data", "id", {"object": "list"})

    async def tags(self, request: Request) -> Response:
        """Answer Ollama's ``GET /api/tags``."""
        return await self._merge_lists(request, "models", "name", {})

    async def _merge_lists(self, request: Request, key: str, name: str, head: dict[str, Json]) -> Response:
        """Merge the main server's models with those routed to the others."""
        servers: list[tuple[tuple[str, ...], UpstreamServer]] = [*self._upstreams.routes]
        if self._upstreams.main is not None:
            servers.append((("*",), self._upstreams.main))
        lists = await asyncio.gather(*(self._list_models(server, request, key) for _, server in servers))
        found: dict[str, Json] = {}
        for (models, _), items in zip(servers, lists, strict=True):
            for item in items or ():
                known = item.get(name) if isinstance(item, dict) else None
                if isinstance(known, str) and any(fnmatchcase(known, one) for one in models):
                    found.setdefault(known, item)
        if all(items is None for items in lists):
            return error_response(502, "No upstream answered. Are they running? `serve.routes` names them.", "upstream_unreachable")
        return Response(json.dumps({**head, key: list(found.values())}), media_type="application/json")

    async def _list_models(self, server: UpstreamServer, request: Request, key: str) -> list[Json] | None:
        """List the models of one server; None: it does not answer."""
        headers = server.request_headers(request.headers.raw, b"accept-encoding", b"content-length")
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await server.send("GET", server.url_for(request.url.path.encode()), headers, None)
                body = json.loads(await answer.aread())
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
            return None
        items = body.get(key) if isinstance(body, dict) and answer.status_code == 200 else None
        return items if isinstance(items, list) else None
