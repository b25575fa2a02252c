"""Vectors of an item's fields, kept in its metadata."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from engrams.core import Json
from engrams.errors import InputError

Distance: TypeAlias = Literal["cosine", "inner_product", "l2"]


def encode_vectors(vectors: Sequence[Sequence[float]]) -> dict[str, Json]:
    """Encode rows for metadata: unit vectors in half precision, and their lengths."""
    import numpy as np

    rows = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(rows, axis=1)
    unit = rows / np.maximum(norms, 1e-12)[:, None]
    return {
        "vectors": base64.b64encode(unit.astype("<f2").tobytes()).decode(),
        "norms": [float(norm) for norm in norms],
    }


def score_vectors(item: Mapping[str, Json], query: Sequence[float], distance: Distance) -> float:
    """Score an item by the nearest of its vectors; higher is nearer.

    ``cosine``: -1 to 1. ``inner_product``: the product. ``l2``: the distance with a minus.
    InputError: another number of dimensions.
    """
    import numpy as np

    query_vector = np.asarray(query, np.float32)
    unit = np.frombuffer(base64.b64decode(item["vectors"]), "<f2").astype(np.float32)
    if unit.size % len(query_vector):
        raise InputError(
            "Items were embedded with another number of dimensions.",
            hint="Store them again, or open the store with that model.",
        )
    unit = unit.reshape(-1, len(query_vector))
    rows: Any = unit * np.asarray(item.get("norms", 1.0), np.float32).reshape(-1, 1)
    match distance:
        case "cosine":
            return float(np.max(unit @ query_vector)) / max(
                float(np.linalg.norm(query_vector)), 1e-12
            )
        case "inner_product":
            return float(np.max(rows @ query_vector))
        case "l2":
            return -float(np.min(np.linalg.norm(rows - query_vector, axis=1)))
