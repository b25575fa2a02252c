"""An embedder whose cosines a test sets to the hundredth."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engrams.ports import EmbedderCard


class Angles:
    """An embedder that knows where each text points: an angle in a plane, and which plane."""

    def __init__(self, *, inline: bool = True) -> None:
        self.card = EmbedderCard("angles", 8, inline=inline)
        self.known: dict[str, np.ndarray] = {}

    def put(self, text: str, cosine: float = 1.0, plane: int = 0) -> str:
        """The text lies at that cosine to the first axis of its plane."""
        row = np.zeros(8, np.float32)
        row[2 * plane : 2 * plane + 2] = cosine, math.sqrt(1 - cosine**2)
        self.known[text] = row
        return text

    def embed(self, texts: Sequence[str], purpose: str = "document") -> np.ndarray:
        return np.stack([self.known.get(text, np.zeros(8, np.float32)) for text in texts])
