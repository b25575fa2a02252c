"""Embed texts through a server: batches, retries, limits and checks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol

from engrams.core import Json
from engrams.errors import ModelError
from engrams.models.embed.families import UNKNOWN, Purpose, add_prefixes, with_dimension
from engrams.models.http_client import HttpClient, HttpResponse
from engrams.models.http_errors import mentions, status_error
from engrams.models.retry import RetryPolicy, with_retries
from engrams.ports import Clock, EmbedderCard
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

# About 5,000 tokens of any script: under the 8,191 of the usual servers, far over any single memory
# worth one vector.
_LONGEST = 16_000
_SHORTEST = 256
_HINTS = {
    401: "Check `embed.api_key`.",
    403: "The key may not use this model: check `embed.model` and the key's rights.",
    404: "Check `embed.url` and `embed.model`; a local model may have to be pulled first.",
}
_RETRY = RetryPolicy()


NO_API = "Is `embed.url` the address of its API, and `embed.provider` right?"


class EmbeddingApi(Protocol):
    """Requests and answers of one kind of server."""

    path: str

    def request(self, texts: Sequence[str]) -> Json: ...

    def read(self, body: Json) -> list[npt.NDArray[np.float32]]:
        """Read vectors in the texts' order. ModelError: there are none."""
        ...


class _TooLongError(ModelError):
    """Refusal of texts for their length."""


class RemoteEmbedder:
    """Embedder port over one server; threads share it.

    A query has ``timeout`` seconds in all and one retry: somebody waits for it. Documents have that
    for each call and three retries. Blank texts are not sent; their row is zero. A text that the
    server finds too long is embedded by as much of its beginning as the server takes.
    """

    def __init__(
        self,
        client: HttpClient,
        api: EmbeddingApi,
        card: EmbedderCard,
        settings: EmbedSettings,
        clock: Clock,
        retry: RetryPolicy = _RETRY,
    ) -> None:
        self._client = client
        self._api = api
        self._card = card
        self._settings = settings
        self._clock = clock
        self._retry = {
            "document": retry,
            "query": RetryPolicy(min(retry.retries, 1), retry.first_wait, min(retry.max_wait, 2.0)),
        }
        self._lock = Lock()
        self._closed = Event()

    @property
    def card(self) -> EmbedderCard:
        """Return the card; ``dimension`` is -1 until an answer tells it."""
        return self._card

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Floats:
        """Return unit vectors, zero for a blank text.

        ModelError: the server failed, or its vectors have a wrong dimension.
        """
        import numpy as np

        prefixed = [_cut_bytes(text, _LONGEST) for text in add_prefixes(self._card, texts, purpose)]
        indexes = [index for index, text in enumerate(prefixed) if text]
        rows: list[npt.NDArray[np.float32]] = []
        for start in range(0, len(indexes), self._settings.batch_size):
            rows += self._embed_batch(
                [prefixed[index] for index in indexes[start : start + self._settings.batch_size]],
                purpose,
            )
        out = np.zeros((len(texts), max(self._card.dimension, 0)), dtype=np.float32)
        if indexes:
            out[indexes] = np.stack(rows)
        return out

    def close(self) -> None:
        """End waits and calls; running ones raise ModelError."""
        self._closed.set()
        self._client.close()

    def _embed_batch(self, texts: list[str], purpose: Purpose) -> list[npt.NDArray[np.float32]]:
        retry = self._retry[purpose]
        longest = self._settings.timeout_seconds
        deadline = time.monotonic() + (
            longest if purpose == "query" else (1 + retry.retries) * (longest + retry.max_wait)
        )
        try:
            return with_retries(
                lambda: self._call(texts, min(max(deadline - time.monotonic(), 0.001), longest)),
                retry,
                deadline,
                self._closed,
            )
        except _TooLongError:
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._embed_batch(texts[:middle], purpose) + self._embed_batch(
                    texts[middle:], purpose
                )
            if len(texts[0].encode("utf-8", "replace")) <= _SHORTEST:
                raise
            return self._embed_batch(
                [_cut_bytes(texts[0], len(texts[0].encode("utf-8", "replace")) // 2)], purpose
            )

    def _call(self, texts: Sequence[str], seconds: float) -> list[npt.NDArray[np.float32]]:
        if self._closed.is_set():
            raise ModelError(
                "The connection to the embedding model was closed.",
                hint="Open a new engine.",
                retryable=False,
            )
        response = self._client.fetch(self._api.path, self._api.request(texts), seconds)
        if response is None:
            hint = (
                "Is the server overloaded? Raise `embed.timeout_seconds`, or lower"
                " `embed.batch_size`."
            )
            raise ModelError(
                f"The embedding server {self._client.host} gave no complete answer within"
                f" {seconds:.3g} seconds.",
                hint=hint,
            )
        if response.status != 200:
            raise _refusal_error(self._card.id, response, self._clock)
        rows = self._api.read(response.json())
        if len(rows) != len(texts):
            raise ModelError(
                f"{self._card.id} gave {len(rows)} vectors for {len(texts)} texts.", retryable=False
            )
        return [self._to_unit(row) for row in rows]

    def _to_unit(self, row: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        import numpy as np

        with self._lock:
            if self._card.dimension == UNKNOWN and row.size:
                self._card = with_dimension(self._card, row.size)
        if row.shape != (self._card.dimension,):
            raise ModelError(
                f"{self._card.id} gave a vector of the wrong dimension: {row.size} instead of"
                f" {self._card.dimension}.",
                hint="Check `embed.model` and `embed.dimension`; 0 takes the model's own.",
                retryable=False,
            )
        length = float(np.linalg.norm(row))
        if not np.isfinite(length) or length == 0.0:
            raise ModelError(
                f"{self._card.id} gave a zero vector.",
                hint="Check that the model is loaded correctly.",
                retryable=True,
            )
        return row / np.float32(length)


def parse_vector(row: Json) -> npt.NDArray[np.float32]:
    """Parse a list or base64 of float32. ModelError: it is neither."""
    import base64

    import numpy as np

    try:
        if isinstance(row, str):
            return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4").astype(
                np.float32
            )
        with np.errstate(over="ignore"):
            vector = np.asarray(row, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        vector = np.zeros((0, 0), dtype=np.float32)
    if vector.ndim != 1:
        raise ModelError(
            "The embedding server gave a vector that is not a list of numbers.",
            hint=NO_API,
            retryable=False,
        )
    return vector


def _refusal_error(name: str, response: HttpResponse, clock: Clock) -> ModelError:
    error = status_error(name, response.status, response.headers, response.json(), clock, _HINTS)
    if response.status in (400, 413, 422, 500) and mentions(
        response.body, "too long", "too large", "context", "maximum", "max_tokens", "n_ubatch"
    ):
        return _TooLongError(
            error.message, hint="The text is longer than the model takes.", retryable=False
        )
    return error


def _cut_bytes(text: str, size: int) -> str:
    if len(text) * 4 <= size:
        return text
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def parse_list(body: Json, name: str) -> list[Json]:
    """Return the list ``name`` of an answer. ModelError: there is none."""
    rows = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(rows, list):
        problem = "something that is not JSON" if body is None else f"no {name!r}"
        raise ModelError(
            f"The embedding server answered with {problem}.", hint=NO_API, retryable=body is None
        )
    return rows
