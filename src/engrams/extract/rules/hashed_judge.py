"""Logistic regressions over features, each hashed to one of the weights of a file.

Enter at ``load_judge``. ``scripts/train_clauses.py`` and ``scripts/train_standing.py`` write the
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from engrams.text.text_caches import text_cache

SLOTS = 8192
"""Weights of a judge; each feature is hashed to one."""
_SURE = 30.0


class HashedJudge(NamedTuple):
    """Trained weights."""

    weights: list[float]
    base: float

    def judge(self, features: Iterable[str]) -> float:
        """Return the probability of what the judge was trained for, 0..1."""
        odds = self.base + sum(map(self.weights.__getitem__, hash_features(features)))
        return 1 / (1 + math.exp(-max(-_SURE, min(_SURE, odds))))


@cache
def load_judge(name: str) -> HashedJudge:
    """Load the judge whose weights lie beside this module as ``name.npz``."""
    import numpy as np

    with np.load(Path(__file__).with_name(f"{name}.npz")) as file:
        return HashedJudge(file["weights"].astype(float).tolist(), float(file["base"][0]))


def hash_features(features: Iterable[str]) -> set[int]:
    """Return the places of features among the weights."""
    return {*map(_find_slot, features)}


@text_cache(1 << 15)
def _find_slot(feature: str) -> int:
    """Find the weight of a feature; cached, since few words make up most clauses."""
    return crc32(feature.encode("utf-8")) % SLOTS
