"""Grouping around centres."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engrams.upkeep.topics.cluster import TopicCentres, group_rows, link_groups, mean, update_mean


def at(cosine: float) -> np.ndarray:
    """A unit vector at that cosine to (1, 0)."""
    return np.array([cosine, math.sqrt(1 - cosine**2)], np.float32)


@pytest.mark.covers("S0.28")
def test_what_is_near_enough_joins_and_what_is_not_begins_another() -> None:
    """0.70 joins, 0.69 does not."""
    assert group_rows(np.stack([at(1.0), at(0.70)]), 0.70) == [[0, 1]]
    assert group_rows(np.stack([at(1.0), at(0.69)]), 0.70) == [[0], [1]]


@pytest.mark.covers("S0.28")
def test_the_centre_is_the_running_mean() -> None:
    """Whatever the order, the centre is the mean of what joined."""
    rows = np.stack([at(1.0), at(0.9), at(0.8)])
    centre = update_mean(update_mean(rows[0], 1, rows[1]), 2, rows[2])
    assert centre == pytest.approx(mean(rows), abs=1e-6)
    centres = TopicCentres(2)
    centres.add(rows[0], 1)
    for row in rows[1:]:
        centres.join(centres.nearest(row, 0.7), row)
    assert centres.members == [3]
    assert centres.centre(0) == pytest.approx(mean(rows), abs=1e-6)


def test_a_topic_without_members_attracts_nothing() -> None:
    """What was split or emptied is out of the running."""
    centres = TopicCentres(2)
    centres.add(at(1.0), 1)
    centres.put(0, at(1.0), 0)
    assert centres.nearest(at(1.0), 0.7) == -1
    assert TopicCentres(2).nearest(at(1.0), 0.7) == -1


@pytest.mark.covers("S0.35")
def test_alike_are_centres_from_the_floor_on_over_any_number_of_links() -> None:
    """0.93 is alike and 0.92 is not; of three in a row the ends are alike through the middle."""
    assert link_groups(np.stack([at(1.0), at(0.93)]), 0.93) == [[0, 1]]
    assert link_groups(np.stack([at(1.0), at(0.92)]), 0.93) == []
    angles = [0.0, 0.3, 0.6]
    chain = np.array([[math.cos(angle), math.sin(angle)] for angle in angles], np.float32)
    assert link_groups(chain, 0.93) == [[0, 1, 2]]
