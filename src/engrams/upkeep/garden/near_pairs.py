"""Pairs of statements near in meaning, for the jobs ``merge`` and ``links``."""

from __future__ import annotations

import numpy as np

from engrams.upkeep.garden.steps import GardenJobInput

_BLOCK_ROWS = 512
"""Rows whose cosines are computed at once: 512 x 20,000 float32 are 40 MB."""
_MAX_NEIGHBOURS = 16
"""Neighbours per row; more duplicates are merged in the next cycle."""


def find_near_pairs(garden: GardenJobInput, floor: float) -> list[tuple[int, int]]:
    """Find index pairs with a cosine above ``floor``, nearest first, at most 16 per row.

    Vectors are unit vectors, so a product is a cosine. Records without a vector, and those that a
    step changes already, are in no pair.
    """
    if not garden.vectors.shape[1]:
        return []
    usable = [index for index, _ in garden.iter_unplanned() if garden.vectors[index].any()]
    rows = garden.vectors[usable]
    cosine_by_pair: dict[tuple[int, int], float] = {}
    for start in range(0, len(usable), _BLOCK_ROWS):
        cosines = rows[start : start + _BLOCK_ROWS] @ rows.T
        # No row is its own neighbour.
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -1.0
        rows_with_pairs = np.flatnonzero((cosines > floor).any(axis=1))
        count = min(_MAX_NEIGHBOURS, len(usable))
        neighbours = np.argpartition(cosines[rows_with_pairs], -count, axis=1)[:, -count:]
        for row, row_neighbours in zip(rows_with_pairs.tolist(), neighbours.tolist(), strict=True):
            for neighbour in row_neighbours:
                if cosines[row, neighbour] > floor:
                    pair = (min(start + row, neighbour), max(start + row, neighbour))
                    cosine_by_pair[pair] = float(cosines[row, neighbour])
    ranked = sorted(cosine_by_pair.items(), key=lambda item: (-item[1], item[0]))
    return [(usable[first], usable[second]) for (first, second), _ in ranked]
