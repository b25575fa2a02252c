"""Embed text by hashed words: no model, same on every machine."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from engrams.errors import InputError
from engrams.ports import EmbedderCard

if TYPE_CHECKING:
    from engrams.ports.models import Floats

# Words; single characters in scripts without blanks.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_PLACES = 4


def hash_vector(text: str, dimension: int) -> list[float]:
    """Return a unit vector of hashed words; zeros without words."""
    sums = [0.0] * dimension
    for word in _WORDS.findall(unicodedata.normalize("NFKC", text).casefold()):
        for index, sign in _hash_places(word):
            sums[index % dimension] += sign
    length = math.sqrt(sum(value * value for value in sums))
    return [value / length for value in sums] if length else sums


@lru_cache(100_000)
def _hash_places(word: str) -> tuple[tuple[int, float], ...]:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=5 * _PLACES).digest()
    parts = [digest[start : start + 5] for start in range(0, len(digest), 5)]
    return tuple((int.from_bytes(part[:4], "big"), 1.0 if part[4] & 1 else -1.0) for part in parts)


class HashEmbedder:
    """Embed by hashed words; ``calls`` counts texts by purpose."""

    incognito: ClassVar[bool] = True
    """True: no text that it embeds is kept anywhere."""

    def __init__(self, dimension: int = 256, *, inline: bool = True) -> None:
        """Set the dimension. InputError: it is under 1."""
        if dimension < 1:
            raise InputError(f"A vector has at least one dimension, not {dimension}.")
        floors = {"duplicate": 0.95, "related": 0.4}
        self.card = EmbedderCard(f"hash-{dimension}", dimension, floors=floors, inline=inline)
        self.calls: dict[str, int] = {"query": 0, "document": 0}

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """Return float32 vectors [len(texts), dimension]."""
        import numpy as np

        self.calls[purpose] += len(texts)
        rows = [hash_vector(text, self.card.dimension) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.card.dimension)
