"""Boosted decision trees: the form of the trained models that ship with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Boosted trees of one depth.

    A tree asks one question at each node: is a feature above a limit? Its questions are listed
    level by level; in a level, those that follow a no come first.
    """

    columns: npt.NDArray[np.int64]
    """Feature of each question [trees, 2**depth - 1]."""
    limits: npt.NDArray[np.float64]
    """Limit of each question [trees, 2**depth - 1]."""
    leaves: npt.NDArray[np.float64]
    """Log odds that each outcome adds to ``base`` [trees, 2**depth]."""
    base: float

    def score(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the log odds of each row of features [rows, columns]."""
        import numpy as np

        (trees, questions) = self.columns.shape
        (rows, width) = features.shape
        # Positions in flat arrays: looking up by one index takes half as long as by two.
        columns = self.columns.ravel()
        limits = self.limits.ravel()
        values = features.ravel()
        tree_start = np.arange(trees) * questions
        row_start = np.arange(rows)[:, None] * width
        node = np.zeros((rows, trees), np.int64)
        for level in range((questions + 1).bit_length() - 1):
            positions = tree_start + (2**level - 1) + node
            is_above = values.take(row_start + columns.take(positions)) > limits.take(positions)
            node = 2 * node + is_above
        odds: npt.NDArray[np.float64] = self.base + self.leaves.ravel().take(
            np.arange(trees) * (questions + 1) + node
        ).sum(axis=1)
        return odds
