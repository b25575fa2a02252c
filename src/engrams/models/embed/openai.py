"""Embed texts through servers that speak OpenAI's /v1/embeddings, such as vLLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engrams.core import Json
from engrams.errors import ModelError
from engrams.models.embed.families import make_card
from engrams.models.embed.remote import NO_API, RemoteEmbedder, parse_list, parse_vector
from engrams.models.http_client import HttpClient, parse_address
from engrams.models.retry import RetryPolicy
from engrams.ports import Clock
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "https://api.openai.com"


class OpenAIEmbeddingApi:
    """OpenAI's requests and answers; ``dimension`` 0: not asked for."""

    path = "/embeddings"

    def __init__(self, model: str, dimension: int) -> None:
        self._fixed: dict[str, Json] = {"model": model} if model else {}
        if dimension:
            self._fixed["dimensions"] = dimension

    def request(self, texts: Sequence[str]) -> Json:
        return {**self._fixed, "input": list(texts)}

    def read(self, body: Json) -> list[npt.NDArray[np.float32]]:
        """Read rows by their ``index``; vectors are lists or base64."""
        entries = parse_list(body, "data")
        if not all(isinstance(entry, Mapping) for entry in entries):
            raise ModelError(
                "The embedding server's data are not objects.", hint=NO_API, retryable=False
            )
        indexes = [entry.get("index", position) for position, entry in enumerate(entries)]
        if sorted(index for index in indexes if isinstance(index, int)) != list(
            range(len(entries))
        ):
            raise ModelError(
                "The embedding server's answer skips or repeats a text.", retryable=False
            )
        rows = dict(
            zip(indexes, (parse_vector(entry.get("embedding")) for entry in entries), strict=True)
        )
        return [rows[index] for index in range(len(entries))]


def connect(
    settings: EmbedSettings, clock: Clock, retry: RetryPolicy | None = None
) -> RemoteEmbedder:
    """Build the embedder of a server; calls nothing.

    ``settings.url``: with its version path; ``/v1`` is added where there is no path. SettingsError:
    it is no http(s) address.
    """
    base = parse_address(settings.url or _DEFAULT).removesuffix("/embeddings")
    if "/" not in base.split("://", 1)[1]:
        base += "/v1"
    key = settings.api_key.strip()
    client = HttpClient(base, {"authorization": f"Bearer {key}"} if key else {})
    name = f"openai:{settings.model or client.host}" + (
        f"@{settings.dimension}" if settings.dimension else ""
    )
    about = make_card(
        name, settings.model, dimension=settings.dimension, query_prefix=settings.query_prefix
    )
    return RemoteEmbedder(
        client,
        OpenAIEmbeddingApi(settings.model, settings.dimension),
        about,
        settings,
        clock,
        retry or RetryPolicy(),
    )
