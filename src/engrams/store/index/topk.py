"""Top-k selection and deduplication of slots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SAMPLED = 40
"""Ratio of scores to ``width`` above which a sample is looked at first."""


def top_slots(scores: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.int64]:
    """Indices of the ``width`` highest positive scores; the last of equals."""
    # Zero is the commonest score, and a partition is slow among so many equals. Where many others are left, a sample gives a
    # lower bound of the highest.
    found = np.flatnonzero(scores > 0)
    if len(found) <= width:
        return found
    some = scores[found]
    if len(found) > _SAMPLED * width:
        sample = some[:: len(some) // (10 * width)]
        place = len(sample) - 1 - 4 * width * len(sample) // len(some) - 8
        bound = np.partition(sample, place)[place]
        above = some > bound
        likely = np.count_nonzero(above)
        if likely >= width:
            found, some = found[above], some[above]
        elif likely + np.count_nonzero(some == bound) >= width:
            return _select(found, some, bound, width)
    return _select(found, some, np.partition(some, len(some) - width)[len(some) - width], width)


def _select(found: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], bound: np.float32, width: int) -> npt.NDArray[np.int64]:
    """Take all above the bound, and as many on it as needed."""
    above = found[scores > bound]
    return np.concatenate([above, found[scores == bound][len(above) - width :]])


def unique_sorted(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sort slots and drop repeats.

    np.unique would load numpy.ma, which takes longer than a whole search.
    """
    ordered = np.sort(slots)
    kept: npt.NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    return kept
