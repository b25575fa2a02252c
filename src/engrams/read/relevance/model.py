"""The trained model of relevance: how probable is it that a memory helps with a prompt?

``load_model`` is the way in; ``scripts/train_help.py`` trains it. A logistic regression tells
whether a prompt needs memory at all. A second one and boosted trees, which err differently, tell
together which hit helps if it does. The probability of a hit is the product of both, calibrated.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engrams.core.boosted_trees import BoostedTrees
from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = npt.NDArray[np.float64]

WEIGHTS = Path(__file__).with_name("weights.npz")
_WIDEST = 4.0
"""Deviations from the mean at which a feature of a prompt is cut: prompts differ more in life."""
_SURE = 1e-4


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """Logistic regression over features."""

    means: Columns
    deviations: Columns
    weights: Columns
    """One for each feature, and the base."""

    def judge(self, rows: Columns) -> Columns:
        """Tell the probability, 0..1, of each row [rows, features]."""
        return to_probability(self.score(rows))

    def score(self, rows: Columns) -> Columns:
        """Tell the log odds of each row [rows, features]."""
        standardised = np.clip((rows - self.means) / self.deviations, -_WIDEST, _WIDEST)
        return np.asarray(standardised @ self.weights[:-1] + self.weights[-1])


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Both parts of the model, and their calibration."""

    prompts: LogisticModel
    hits: LogisticModel
    trees: BoostedTrees
    """Of hits, too; both count alike."""
    scale: float
    """Factor, and with ``shift`` summand, that make log odds a calibrated probability."""
    shift: float

    def judge_hits(self, hits: Columns) -> Columns:
        """Tell the chance, 0..1, that each hit [hits, features] helps a prompt that needs memory."""
        return to_probability((self.hits.score(hits) + self.trees.score(hits)) / 2)

    def calibrate(self, products: Columns) -> Columns:
        """Turn products of need and chance into probabilities that hold on average."""
        return to_probability(self.scale * to_log_odds(products) + self.shift)


def to_probability(log_odds: Columns) -> Columns:
    """Turn log odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def to_log_odds(probabilities: Columns) -> Columns:
    """Turn probabilities into log odds; what is nearly sure counts as that."""
    bounded = np.clip(probabilities, _SURE, 1 - _SURE)
    return np.asarray(np.log(bounded / (1 - bounded)))


@cache
def load_model() -> RelevanceModel:
    """Load the trained model that ships with the package."""
    with np.load(WEIGHTS) as weights:
        prompts, hits = (
            LogisticModel(
                *(
                    weights[f"{part}_{name}"].astype(np.float64)
                    for name in ("means", "deviations", "weights")
                )
            )
            for part in ("prompt", "hit")
        )
        trees = BoostedTrees(
            weights["columns"].astype(np.int64),
            weights["limits"].astype(np.float64),
            weights["leaves"].astype(np.float64),
            float(weights["base"]),
        )
        return RelevanceModel(
            prompts, hits, trees, float(weights["scale"]), float(weights["shift"])
        )
