"""Cache the vectors of the last queries, in memory only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Literal

from engrams.ports import Embedder, EmbedderCard
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

_MAX_QUERY_CHARS = 4096
"""Longer queries are not cached."""


class QueryCachingEmbedder:
    """Embedder that caches the last ``size`` query vectors; threads share it."""

    def __init__(self, inner: Embedder, size: int = 512) -> None:
        self._inner = inner
        self._size = size
        self._lock = Lock()
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        register_cache(self)

    @property
    def card(self) -> EmbedderCard:
        return self._inner.card

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """Embed texts; each query that is not cached is embedded once."""
        if purpose == "document" or not texts:
            return self._inner.embed(texts, purpose)
        import numpy as np

        with self._lock:
            vectors = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in vectors:
                self._vectors.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            rows = self._inner.embed(missing, purpose)
            vectors.update(zip(missing, rows, strict=True))
            self._store_rows(
                {
                    text: row.copy()
                    for text, row in zip(missing, rows, strict=True)
                    if len(text) <= _MAX_QUERY_CHARS
                }
            )
        return np.stack([vectors[text] for text in texts])

    def cache_clear(self) -> None:
        """Forget every query."""
        with self._lock:
            self._vectors.clear()

    def close(self) -> None:
        """Clear the cache and close the inner embedder."""
        self.cache_clear()
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def _store_rows(self, rows: dict[str, npt.NDArray[np.float32]]) -> None:
        with self._lock:
            self._vectors.update(rows)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
