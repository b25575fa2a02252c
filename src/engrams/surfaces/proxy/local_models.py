"""Embeddings and lists of models where there is no upstream."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from engrams import __version__
from engrams.core import Json, clock
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.chat_endpoint import BODY_BYTES, parse_json, read_body, run_beside
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.offline_formats import MODEL
from engrams.surfaces.proxy.quote_answers import HOW

if TYPE_CHECKING:
    from engrams.ports.models import Floats

_MAX_TEXTS = 2048
"""Texts in one request, as many as OpenAI takes."""


class LocalModelEndpoint:
    """Memory's embedder and lists of models, for OpenAI's and Ollama's clients."""

    def __init__(self, memory: TimeLimitedEngine) -> None:
        self._memory = memory

    async def embeddings(self, request: Request) -> Response:
        """Answer ``POST /v1/embeddings``."""
        body, vectors = await self._embed(request)
        if isinstance(vectors, Response):
            return vectors
        is_packed = body.get("encoding_format") == "base64"
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": (
                    base64.b64encode(vector.tobytes()).decode() if is_packed else vector.tolist()
                ),
            }
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return _to_response(
            {"object": "list", "data": rows, "model": self._memory.embedder.id, "usage": usage}
        )

    async def embed(self, request: Request) -> Response:
        """Answer Ollama's ``POST /api/embed``, and ``/api/embeddings`` of old."""
        _, vectors = await self._embed(request)
        if isinstance(vectors, Response):
            return vectors
        if request.url.path == "/api/embeddings":
            return _to_response({"embedding": vectors[0].tolist()})
        return _to_response(
            {
                "model": self._memory.embedder.id,
                "embeddings": vectors.tolist(),
                "prompt_eval_count": 0,
            }
        )

    async def models(self, request: Request) -> Response:
        """List the models of OpenAI's API, or return the one asked for."""
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "engrams"}
            for name in self._names()
        ]
        name = request.path_params.get("name")
        if name is None:
            return _to_response({"object": "list", "data": models})
        for model in models:
            if model["id"] == name:
                return _to_response(model)
        return self._refuse_model(request)

    async def tags(self, _request: Request) -> Response:
        """List the models as Ollama does."""
        details = {
            "modified_at": clock.now().isoformat(),
            "size": 0,
            "digest": "",
            "details": {"family": "engrams", "families": ["engrams"]},
        }
        return _to_response(
            {"models": [{"name": name, "model": name, **details} for name in self._names()]}
        )

    async def version(self, _request: Request) -> Response:
        """Answer Ollama's ``GET /api/version``."""
        return _to_response({"version": __version__})

    def _names(self) -> tuple[str, ...]:
        card = self._memory.embedder
        return (MODEL, card.id) if card.dimension else (MODEL,)

    async def _embed(self, request: Request) -> tuple[Mapping[str, Json], Floats | Response]:
        """Embed the texts of a request, or refuse it."""
        raw = await read_body(request)
        if raw is None:
            return {}, error_response(
                request.url.path,
                413,
                f"The request is over {BODY_BYTES:,} bytes.",
                "request_too_large",
            )
        body = await run_beside(len(raw), partial(parse_json, raw))
        fields: Mapping[str, Json] = body if isinstance(body, dict) else {}
        texts = fields.get("input", fields.get("prompt"))
        if isinstance(texts, str):
            texts = [texts]
        card = self._memory.embedder
        if not card.dimension or fields.get("model", card.id) not in (card.id, f"{card.id}:latest"):
            return {}, self._refuse_model(request)
        if (
            not isinstance(texts, list)
            or not 0 < len(texts) <= _MAX_TEXTS
            or not all(isinstance(text, str) for text in texts)
        ):
            text = (
                f"`input` must be a text or 1 to {_MAX_TEXTS} texts; this embedder reads no tokens."
            )
            return {}, error_response(request.url.path, 400, text, "invalid_request")
        if fields.get("dimensions") not in (None, card.dimension):
            text = f"Vectors of {card.id} have {card.dimension} dimensions. Leave `dimensions` out."
            return {}, error_response(request.url.path, 400, text, "invalid_request")
        vectors = await self._memory.embed(texts)
        if vectors is None:
            return {}, error_response(
                request.url.path,
                503,
                "The embedder failed. `engrams doctor` says why.",
                "embedder_unavailable",
            )
        return fields, vectors

    def _refuse_model(self, request: Request) -> Response:
        names = " and ".join(self._names())
        return error_response(
            request.url.path,
            404,
            f"There is only {names}, as no model server is connected. {HOW}",
            "model_not_found",
        )


def _to_response(body: Json) -> Response:
    return Response(json.dumps(body), media_type="application/json")
