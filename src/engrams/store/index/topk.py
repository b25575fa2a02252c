"""Choosing among slots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SAMPLED = 40
"""Times as many scores as are wanted from which a sample of them is looked at first."""


def highest(scores: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.int64]:
    """Indices of the ``width`` highest positive scores; of equal ones, the last."""
    # Nothing at all is the commonest score, and a partition is slow among so many equals. Where a common word leaves many
    # others, a sample of them tells what cannot be among the highest.
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
            return _from(found, some, bound, width)
    return _from(found, some, np.partition(some, len(some) - width)[len(some) - width], width)


def _from(found: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], bound: np.float32, width: int) -> npt.NDArray[np.int64]:
    """Those above the bound, and as many of those on it as it takes."""
    above = found[scores > bound]
    return np.concatenate([above, found[scores == bound][len(above) - width :]])


def distinct(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each once, in order (np.unique would load numpy.ma, which takes longer than a whole search)."""
    ordered = np.sort(slots)
    kept: npt.NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    return kept
