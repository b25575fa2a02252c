"""Boosted trees over the features of a pair of messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
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
class BoostedTrees:
    """Boosted trees of one depth.

    ``columns`` int [trees, 2**depth - 1] and ``limits`` float of that shape: the feature and the
    limit of each question, level by level, in a level those after a no first. ``leaves`` float
    [trees, 2**depth]: what each outcome adds to ``base``.
    """

    columns: npt.NDArray[np.int64]
    limits: npt.NDArray[np.float64]
    leaves: npt.NDArray[np.float64]
    base: float

    def score(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the log odds of each row of features [rows, columns]."""
        import numpy as np

        (trees, questions) = self.columns.shape
        (rows, width) = features.shape
        # Places in flat arrays: looking up by one index takes half as long as by two.
        asked = self.columns.ravel()
        limits = self.limits.ravel()
        values = features.ravel()
        first = np.arange(trees) * questions
        begun = np.arange(rows)[:, None] * width
        node = np.zeros((rows, trees), np.int64)
        for level in range((questions + 1).bit_length() - 1):
            places = first + (2**level - 1) + node
            node = 2 * node + (values.take(begun + asked.take(places)) > limits.take(places))
        odds: npt.NDArray[np.float64] = self.base + self.leaves.ravel().take(
            np.arange(trees) * (questions + 1) + node
        ).sum(axis=1)
        return odds


@dataclass(frozen=True, slots=True)
class MessageScorer:
    """Linear score of one message by itself.

    ``weights``: one for each column of a vector, one for each cue, and the base.
    """

    weights: npt.NDArray[np.float64]

    def score(self, rows: Floats, cues: Floats) -> tuple[float, float]:
        """Return the scores of the whole message and its best clause.

        ``rows``, ``cues``: of ``describe_message``.
        """
        width = rows.shape[1]
        found = rows @ self.weights[:width] + cues @ self.weights[width:-1] + self.weights[-1]
        return float(found[0]), float(found[1:].max())


@dataclass(frozen=True, slots=True)
class ScoredMessage:
    """Message with the scores of ``ChangeDetectionModel`` for it by itself."""

    features: MessageFeatures
    states: tuple[float, float]
    news: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ChangeDetectionModel:
    """Trained trees for pairs, scorers of single messages, rarity of words.

    ``states``: if an older message says something that can end; ``news``: if a newer one tells a
    change, which below ``floor`` it never does. ``scale`` and ``shift`` make log odds a calibrated
    probability.
    """

    trees: BoostedTrees
    states: MessageScorer
    news: MessageScorer
    rarity: Mapping[str, float]
    floor: float
    scale: float
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

        both = [(old, new) for earlier, new in pairs for old in earlier]
        if not both:
            return [[] for _ in pairs]
        described = describe_pairs([(old.features, new.features) for old, new in both], self.rarity)
        alone = np.array([(*old.states, *new.news) for old, new in both])
        ends = np.cumsum([len(earlier) for earlier, _ in pairs])[:-1]
        scored = np.split(self.trees.score(np.hstack([described, alone])), ends)
        return [
            [
                1 / (1 + math.exp(-(self.scale * value + self.shift)))
                for value in compete(odds).tolist()
            ]
            for odds in scored
        ]


def compete(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Lower each candidate's log odds by those of its rivals.

    A new message ends one thing: where it looks as if it ended many, it is chatter that the trees
    know nothing of.
    """
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
        trees = BoostedTrees(
            held["columns"].astype(np.int64),
            held["limits"].astype(np.float64),
            held["leaves"].astype(np.float64),
            float(held["base"]),
        )
        states, news = (MessageScorer(held[name]) for name in ("states", "news"))
        return ChangeDetectionModel(
            trees,
            states,
            news,
            rarity,
            *(float(held[name]) for name in ("floor", "scale", "shift")),
        )


def nearest_clause(old: MessageFeatures, new: MessageFeatures) -> str:
    """Return the older message's clause that is nearest to the newer message."""
    return old.clauses[int((old.rows[1:] @ new.rows[1:].T).max(axis=1).argmax())].text
