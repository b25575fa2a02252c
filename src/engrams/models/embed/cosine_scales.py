"""Scales of embedding models: tables by which a cosine of one model is translated to another."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PLACES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Cosines of all-MiniLM-L6-v2 that a scale gives another model's cosines for."""


@cache
def load_scale(name: str) -> tuple[float, ...]:
    """Load a model's scale: a cosine for each of ``PLACES``; empty: unknown.

    Measured by ``scripts/calibrate_card.py``.
    """
    scales: dict[str, list[float]] = json.loads(
        Path(__file__).with_name("data").joinpath("scales.json").read_text("utf-8")
    )
    return tuple(scales.get(name, ()))


def translate_cosine(cosine: float, source: Sequence[float], target: Sequence[float]) -> float:
    """Cosine that means on one scale what ``cosine`` means on another.

    Beyond the ends of a scale it is that end; rounded to four places.
    """
    upper = min(max(bisect_right(source, cosine), 1), len(source) - 1)
    low = source[upper - 1]
    high = source[upper]
    share = min(max((cosine - low) / (high - low), 0.0), 1.0)
    return round(target[upper - 1] + share * (target[upper] - target[upper - 1]), 4)
