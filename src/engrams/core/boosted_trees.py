"""Boosted decision trees: the form of the trained models that ship with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LEAVES_OF_LAST = 2
"""Leaves below a question that no other follows."""


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
        # All questions at once, then the way through each tree: few calls of numpy, of which each
        # costs more than the few values that a search asks for.
        values = np.ascontiguousarray(features.T)
        by_question = self.columns.T.ravel()
        answers = values.take(by_question, axis=0) > self.limits.T.reshape(-1, 1)
        leaf = _find_leaf(answers.reshape(questions, trees, len(features)), 0, questions + 1)
        first_leaf = np.arange(trees)[:, None] * (questions + 1)
        odds: npt.NDArray[np.float64] = self.base + self.leaves.ravel().take(first_leaf + leaf).sum(
            axis=0
        )
        return odds


def _find_leaf(answers: npt.NDArray[np.bool_], question: int, leaves: int) -> npt.NDArray[np.uint8]:
    """Find which of the leaves below a question each row reaches [trees, rows].

    ``answers``: of each question [questions, trees, rows].
    """
    answer: npt.NDArray[np.uint8] = answers[question].view("u1")
    if leaves == _LEAVES_OF_LAST:
        return answer
    half = leaves // 2
    after_no = 2 * question + 1
    leaf_after_no = _find_leaf(answers, after_no, half)
    leaf_after_yes = _find_leaf(answers, after_no + 1, half) + half
    # Bytes that wrap around: a fraction of the time of ``np.where``.
    leaf: npt.NDArray[np.uint8] = leaf_after_no + answer * (leaf_after_yes - leaf_after_no)
    return leaf
