"""Boosted trees over the features of a pair of messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.write.changedetection.pairfeatures import MessageFeatures, describe_pair

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_WEIGHTS = Path(__file__).with_name("weights.npz")


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Boosted trees of one depth.

    ``columns`` int [trees, 2**depth - 1] and ``limits`` float of that shape: the feature and the limit of each question, level by level,
    in a level those after a no first. ``leaves`` float [trees, 2**depth]: what each outcome adds to ``base``."""

    columns: npt.NDArray[np.int64]
    limits: npt.NDArray[np.float64]
    leaves: npt.NDArray[np.float64]
    base: float

    def score(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the log odds of each row of features [rows, columns]."""
        import numpy as np

        trees, rows = np.arange(len(self.leaves)), np.arange(len(features))[:, None]
        node = np.zeros((len(features), len(trees)), np.int64)
        questions = self.columns.shape[1]
        for first in (2**level - 1 for level in range((questions + 1).bit_length() - 1)):
            asked = (trees, first + node)
            node = 2 * node + (features[rows, self.columns[asked]] > self.limits[asked])
        odds: npt.NDArray[np.float64] = self.base + self.leaves[trees, node].sum(axis=1)
        return odds


@dataclass(frozen=True, slots=True)
class ChangeDetectionModel:
    """Trained trees that judge whether a message outdates an earlier one.

    ``scale`` and ``shift`` make the joint log odds a calibrated probability."""

    change: BoostedTrees
    related: BoostedTrees
    rarity: Mapping[str, float]
    scale: float
    shift: float

    def judge(self, earlier: Sequence[MessageFeatures], new: MessageFeatures) -> list[float]:
        """Return the probability that each earlier message is outdated, 0..1."""
        import numpy as np

        rows = np.array([describe_pair(old, new, self.rarity) for old in earlier], dtype=np.float64)
        odds = compete(join_odds(self.change.score(rows), self.related.score(rows)))
        return [1 / (1 + math.exp(-(self.scale * value + self.shift))) for value in odds.tolist()]


def join_odds(change: npt.NDArray[np.float64], related: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Combine the log odds that a message changes and concerns another.
    The relation gets a bonus of one."""
    import numpy as np

    joint = np.clip(1 / ((1 + np.exp(-change)) * (1 + np.exp(-related - 1))), 1e-9, 1 - 1e-9)
    odds: npt.NDArray[np.float64] = np.log(joint / (1 - joint))
    return odds


def compete(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Lower each candidate's log odds by those of its rivals.

    A new message ends one thing: where it looks as if it ended many, it is chatter that the trees know nothing of."""
    import numpy as np

    each = np.exp(np.minimum(odds, 8))
    against: npt.NDArray[np.float64] = odds - np.log(1 + each.sum() - each)
    return against


@cache
def load_model() -> ChangeDetectionModel:
    """Load the trained model that ships with the package."""
    import numpy as np

    with np.load(_WEIGHTS) as held:
        words = bytes(held["words"]).decode().split("\n")
        rarity = dict(zip(words, held["rarity"].astype(float).tolist(), strict=True))
        change, related = (
            BoostedTrees(
                held[f"{name}_columns"].astype(np.int64), held[f"{name}_limits"].astype(np.float64),
                held[f"{name}_leaves"].astype(np.float64), float(held[f"{name}_base"]),
            )
            for name in ("change", "related")
        )  # fmt: skip
        return ChangeDetectionModel(change, related, rarity, float(held["scale"]), float(held["shift"]))


def nearest_clause(old: MessageFeatures, new: MessageFeatures) -> str:
    """Return the older message's clause that is nearest to the newer message."""
    return old.clauses[int((old.rows[1:] @ new.rows[1:].T).max(axis=1).argmax())].text
