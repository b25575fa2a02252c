"""Top-k selection among many scores."""

from __future__ import annotations

import numpy as np
import pytest

from engrams.store.index.annsearch import top_slots, unique_sorted


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 1.0])
@pytest.mark.parametrize("levels", [3, 1_000_000])
def test_the_highest_of_many_are_found_however_they_are_spread(share: float, levels: int) -> None:
    """As a whole sort would choose them, for rare scores and common ones, all different or nearly all equal; zeros never."""
    dice = np.random.default_rng(7)
    scores = (dice.integers(1, levels, 50_000) / levels * (dice.random(50_000) < share)).astype(np.float32)
    for width in (1, 10, 400):
        found = top_slots(scores, width)
        wanted = np.sort(scores[scores > 0])[::-1][:width]
        assert len(set(found.tolist())) == len(found) == len(wanted)
        assert np.array_equal(np.sort(scores[found])[::-1], wanted)


def test_distinct_keeps_each_once_in_order() -> None:
    """Sorted, each once; nothing of nothing."""
    assert unique_sorted(np.array([5, 1, 5, 3, 1])).tolist() == [1, 3, 5]
    assert unique_sorted(np.array([], np.int64)).tolist() == []
