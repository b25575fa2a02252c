"""Arrays of slots: their types, and what is done to them by value.

A slot is the position of a record in the columns of the index; -1 stands for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Slots: TypeAlias = npt.NDArray[np.int64]
PostingSlots: TypeAlias = npt.NDArray[np.int32]
"""Slots as postings hold them: millions of them."""
Floats: TypeAlias = npt.NDArray[np.float32]
Flags: TypeAlias = npt.NDArray[np.bool_]

_SAMPLED = 40
"""Ratio of scores to ``width`` above which a sample is looked at first."""

NO_SLOTS: Slots = np.zeros(0, np.int64)


def top_slots(scores: Floats, width: int) -> Slots:
    """Find the slots of the ``width`` highest positive scores; of equals the last.

    ``scores``: [slots]. In no order.
    """
    # Zero is the commonest score, and a partition is slow among so many equals. A sample gives a
    # lower bound of the highest.
    bound = np.float32(0)
    if len(scores) > _SAMPLED * width:
        sample = scores[:: len(scores) // (10 * width)]
        positive = sample[sample > 0]
        # So far from the top that the sample's share of the highest lies above, with a margin.
        position = len(positive) - 1 - 4 * width * len(sample) // len(scores) - 8
        if position >= 0:
            bound = np.partition(positive, position)[position]
    slots = np.flatnonzero(scores > bound)
    if bound and len(slots) < width:
        slots = np.flatnonzero(scores >= bound)
        if len(slots) >= width:
            return _select(slots, scores[slots], bound, width)
        slots = np.flatnonzero(scores > 0)
    if len(slots) <= width:
        return slots
    candidates = scores[slots]
    rank = len(candidates) - width
    return _select(slots, candidates, np.partition(candidates, rank)[rank], width)


def _select(slots: Slots, scores: Floats, bound: np.float32, width: int) -> Slots:
    """Take the slots above a bound, and the last of those at it, ``width`` in all."""
    above = slots[scores > bound]
    return np.concatenate([above, slots[scores == bound][len(above) - width :]])


def unique_sorted(slots: Slots) -> Slots:
    """Sort slots and drop repeats.

    np.unique would load numpy.ma, which takes longer than a whole search.
    """
    ordered = np.sort(slots)
    if not len(ordered):
        return ordered
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    distinct: Slots = ordered[is_first]
    return distinct


def join_slots(groups: Sequence[Slots], size: int) -> Slots:
    """Join groups of slots below ``size``, in order and each once; -1 is none."""
    present = np.zeros(size + 1, np.bool_)
    for slots in groups:
        present[slots] = True
    present[-1] = False
    return np.flatnonzero(present)
