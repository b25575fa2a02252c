"""Embed nothing: for a memory that is searched by words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engrams.ports import EmbedderCard

if TYPE_CHECKING:
    from engrams.ports.models import Floats

_CARD = EmbedderCard("null", 0, floors={"near": 0.24}, inline=True)


class NullEmbedder:
    """Embedder port with dimension 0."""

    incognito: ClassVar[bool] = True
    """True: no text that it embeds is kept anywhere."""

    @property
    def card(self) -> EmbedderCard:
        return _CARD

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """Return float32 [len(texts), 0]."""
        import numpy as np

        del purpose
        return np.zeros((len(texts), 0), dtype=np.float32)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
