"""Embed texts through Ollama's /api/embed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engrams.core import Json
from engrams.models.embed.families import make_card
from engrams.models.embed.remote import RemoteEmbedder, parse_list, parse_vector
from engrams.models.http_client import HttpClient, parse_address
from engrams.models.retry import RetryPolicy
from engrams.ports import Clock
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "http://localhost:11434"


class OllamaEmbeddingApi:
    """Ollama's requests and answers; ``dimension`` 0: not asked for."""

    path = "/api/embed"

    def __init__(self, model: str, dimension: int) -> None:
        self._fixed: dict[str, Json] = {"model": model, "truncate": True}
        if dimension:
            self._fixed["dimensions"] = dimension

    def request(self, texts: Sequence[str]) -> Json:
        return {**self._fixed, "input": list(texts)}

    def read(self, body: Json) -> list[npt.NDArray[np.float32]]:
        return [parse_vector(row) for row in parse_list(body, "embeddings")]


def connect(
    settings: EmbedSettings, clock: Clock, retry: RetryPolicy | None = None
) -> RemoteEmbedder:
    """Build the embedder of an Ollama server; calls nothing.

    ``settings.url``: the server's root. SettingsError: it is no http(s) address.
    """
    base = parse_address(settings.url or _DEFAULT).removesuffix("/v1").removesuffix("/api")
    key = settings.api_key.strip()
    client = HttpClient(base, {"authorization": f"Bearer {key}"} if key else {})
    name = f"ollama:{settings.model.removesuffix(':latest')}" + (
        f"@{settings.dimension}" if settings.dimension else ""
    )
    about = make_card(
        name, settings.model, dimension=settings.dimension, query_prefix=settings.query_prefix
    )
    return RemoteEmbedder(
        client,
        OllamaEmbeddingApi(settings.model, settings.dimension),
        about,
        settings,
        clock,
        retry or RetryPolicy(),
    )
