"""Rerank through servers with POST /rerank, as Cohere, Jina and vLLM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import ModelError
from engrams.models.http_client import HttpClient, parse_address
from engrams.models.http_errors import status_error
from engrams.models.rerank.score import CANDIDATE, QUERY_TAIL, sigmoid
from engrams.ports import Clock, RerankRequest


class HttpReranker:
    """One model on one rerank server."""

    def __init__(self, model: str, url: str, clock: Clock, key: str = "") -> None:
        """Connect, with or without ``/rerank``. SettingsError: no http(s) address."""
        headers = {"authorization": f"Bearer {key.strip()}"} if key.strip() else {}
        self._client = HttpClient(parse_address(url).removesuffix("/rerank"), headers)
        self._model = model
        self._clock = clock
        self._logits = False

    @property
    def name(self) -> str:
        return self._model or self._client.host

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Score texts; all None when time ran out. ModelError: server failed."""
        nothing = (None,) * len(request.texts)
        if not request.texts or request.seconds <= 0:
            return nothing
        texts = [text[:CANDIDATE] for text in request.texts]
        body: dict[str, Any] = {
            "query": request.query[-QUERY_TAIL:],
            "documents": texts,
            "top_n": len(texts),
        }
        if self._model:
            body["model"] = self._model
        response = self._client.fetch("/rerank", body, request.seconds)
        if response is None:
            return nothing
        if response.status != 200:
            raise status_error(
                self.name, response.status, response.headers, response.json(), self._clock
            )
        scores = dict(self._read_scores(response.json(), len(texts)))
        if any(not 0.0 <= score <= 1.0 for score in scores.values()):
            # Known for good then: the next answer may by chance lie within 0..1.
            self._logits = True
        return tuple(self._to_relevance(scores.get(index)) for index in range(len(texts)))

    def close(self) -> None:
        self._client.close()

    def _to_relevance(self, score: float | None) -> float | None:
        return sigmoid(score) if self._logits and score is not None else score

    def _read_scores(self, body: Json, count: int) -> Iterator[tuple[int, float]]:
        results = body.get("results", body.get("data")) if isinstance(body, Mapping) else body
        if not isinstance(results, list):
            raise ModelError(
                f"{self.name} answered without results.",
                hint="Is this the address of a rerank server?",
            )
        for result in results:
            if isinstance(result, Mapping):
                index = result.get("index")
                score = result.get("relevance_score", result.get("score"))
                if (
                    isinstance(index, int)
                    and 0 <= index < count
                    and isinstance(score, int | float)
                    and math.isfinite(score)
                ):
                    yield index, float(score)
