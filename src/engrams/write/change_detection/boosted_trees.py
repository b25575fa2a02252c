"""The trained model of the detector: boosted trees over the features of a pair of messages.

Enter at ``load_model``; ``ChangeDetectionModel.judge`` compares messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core.boosted_trees import BoostedTrees
from engrams.write.change_detection.features import (
    MessageFeatures,
    describe_message,
    describe_pairs,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats


_WEIGHTS = Path(__file__).with_name("weights.npz")


@dataclass(frozen=True, slots=True)
class MessageScorer:
    """Linear score of one message by itself."""

    weights: npt.NDArray[np.float64]
    """One for each column of a vector, one for each cue, and the base."""

    def score(self, rows: Floats, cues: Floats) -> tuple[float, float]:
        """Return the scores of the whole message and its best clause.

        ``rows``, ``cues``: of ``describe_message``.
        """
        width = rows.shape[1]
        scores = rows @ self.weights[:width] + cues @ self.weights[width:-1] + self.weights[-1]
        return float(scores[0]), float(scores[1:].max())


@dataclass(frozen=True, slots=True)
class ScoredMessage:
    """Message with its scores by itself: of the whole, and of its best clause."""

    features: MessageFeatures
    states: tuple[float, float]
    """How much it says something that can end."""
    news: tuple[float, float]
    """How much it tells a change."""


@dataclass(frozen=True, slots=True)
class ChangeDetectionModel:
    """Trained trees for pairs, and scorers of single messages."""

    trees: BoostedTrees
    states: MessageScorer
    """Scores whether an older message says something that can end."""
    news: MessageScorer
    """Scores whether a newer message tells a change."""
    rarity: Mapping[str, float]
    """Weight of a word; of an unknown one at the empty word."""
    floor: float
    """Score below which a message never tells a change."""
    scale: float
    """Factor, and with ``shift`` summand, that make log odds a calibrated probability."""
    shift: float

    def weigh(self, message: MessageFeatures) -> ScoredMessage:
        """Score a message by itself."""
        described = describe_message(message)
        return ScoredMessage(message, self.states.score(*described), self.news.score(*described))

    def is_news(self, new: ScoredMessage) -> bool:
        """True unless a message by itself is no news of a change."""
        return max(new.news) >= self.floor

    def judge(
        self, pairs: Sequence[tuple[Sequence[ScoredMessage], ScoredMessage]]
    ) -> list[list[float]]:
        """Return the probability that each earlier message is outdated, 0..1.

        ``pairs``: the earlier messages of each new one.
        """
        import numpy as np

        flat_pairs = [(old, new) for earlier, new in pairs for old in earlier]
        if not flat_pairs:
            return [[] for _ in pairs]
        pair_columns = describe_pairs(
            [(old.features, new.features) for old, new in flat_pairs], self.rarity
        )
        message_columns = np.array([(*old.states, *new.news) for old, new in flat_pairs])
        ends = np.cumsum([len(earlier) for earlier, _ in pairs])[:-1]
        odds_lists = np.split(self.trees.score(np.hstack([pair_columns, message_columns])), ends)
        return [
            [
                1 / (1 + math.exp(-(self.scale * value + self.shift)))
                for value in compete(odds).tolist()
            ]
            for odds in odds_lists
        ]


def compete(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Lower each candidate's log odds by those of its rivals.

    A new message ends one thing: if it seems to end many, it is chatter, of which the trees know
    nothing.
    """
    import numpy as np

    exponentials = np.exp(np.minimum(odds, 8))
    # The sum without a candidate's own is that of its rivals.
    lowered: npt.NDArray[np.float64] = odds - np.log(1 + exponentials.sum() - exponentials)
    return lowered


@cache
def load_model() -> ChangeDetectionModel:
    """Load the trained model that ships with the package."""
    import numpy as np

    with np.load(_WEIGHTS) as weights:
        words = bytes(weights["words"]).decode().split("\n")
        rarity = dict(zip(words, weights["rarity"].astype(float).tolist(), strict=True))
        trees = BoostedTrees(
            weights["columns"].astype(np.int64),
            weights["limits"].astype(np.float64),
            weights["leaves"].astype(np.float64),
            float(weights["base"]),
        )
        states, news = (MessageScorer(weights[name]) for name in ("states", "news"))
        return ChangeDetectionModel(
            trees,
            states,
            news,
            rarity,
            *(float(weights[name]) for name in ("floor", "scale", "shift")),
        )
