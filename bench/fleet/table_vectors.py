"""Vectors of the builtin embedder for other memories, in their environments:
numpy is all that it needs there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

DIMENSION = 256


@cache
def _load_embedder() -> Any:
    sys.path.append(str(Path(__file__).resolve().parents[2] / "src"))
    from engrams.models.embed.static import BuiltinEmbedder

    return BuiltinEmbedder()


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Unit vectors of texts, as lists of numbers."""
    found: list[list[float]] = _load_embedder().embed(list(texts)).tolist()
    return found
