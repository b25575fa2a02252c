"""The trained judge of clause pairs: enter at ``judge_changes``.

It weighs what the trees said of two messages and of their clauses by what the clauses are about.
``scripts/train_changes.py`` trains it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engrams.core.boosted_trees import BoostedTrees
from engrams.write.change_detection.change_topics import ComparedClauses, describe_change

_WEIGHTS = Path(__file__).with_name("pair_judge.npz")


@dataclass(frozen=True, slots=True)
class PairJudge:
    """Trees over the columns of ``describe_change``."""

    trees: BoostedTrees
    scale: float
    """Factor, and with ``shift`` summand, that make log odds a calibrated probability."""
    shift: float


def judge_changes(compared: Sequence[ComparedClauses]) -> list[float]:
    """Return the probability that each newer clause ends the older one, 0..1."""
    import numpy as np

    if not compared:
        return []
    judge = _load_judge()
    odds = judge.trees.score(np.array([describe_change(pair) for pair in compared], float))
    return [1 / (1 + math.exp(-(judge.scale * value + judge.shift))) for value in odds.tolist()]


@cache
def _load_judge() -> PairJudge:
    import numpy as np

    with np.load(_WEIGHTS) as weights:
        trees = BoostedTrees(
            weights["columns"].astype(np.int64),
            weights["limits"].astype(np.float64),
            weights["leaves"].astype(np.float64),
            float(weights["base"]),
        )
        return PairJudge(trees, float(weights["scale"]), float(weights["shift"]))
