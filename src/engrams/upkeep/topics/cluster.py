"""Greedy clustering of vectors around mean centres, not normalised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

EDGE = 1e-6
"""Cosines are float32: a floor includes what is equal to it."""


def normalise_rows(rows: Floats) -> Floats:
    """Scale each row to unit length; zero rows stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), np.float32)


def mean(rows: Floats) -> Floats:
    return np.asarray(rows.mean(axis=0), np.float32)


def update_mean(centre: Floats, members: int, row: Floats) -> Floats:
    """Return the running mean of a group after one more row."""
    return np.asarray((centre * members + row) / (members + 1), np.float32)


class TopicCentres:
    """Growing array of topic centres, with running means."""

    def __init__(self, dimension: int) -> None:
        self._means = np.zeros((16, dimension), np.float32)
        self._units = np.zeros((16, dimension), np.float32)
        self.members: list[int] = []

    def __len__(self) -> int:
        return len(self.members)

    def centre(self, place: int) -> Floats:
        return np.asarray(self._means[place], np.float32)

    def add(self, centre: Floats, members: int) -> int:
        """Add a topic; returns its index."""
        place = len(self.members)
        if place == len(self._means):
            self._means, self._units = (
                np.concatenate([rows, np.zeros_like(rows)]) for rows in (self._means, self._units)
            )
        self.members.append(members)
        self.put(place, centre, members)
        return place

    def put(self, place: int, centre: Floats, members: int) -> None:
        """Replace a centre; a topic without members attracts nothing."""
        self.members[place] = members
        self._means[place] = centre
        self._units[place] = normalise_rows(centre) if members else 0.0

    def nearest(self, row: Floats, floor: float) -> int:
        """Return the index of the nearest centre from ``floor`` on, else -1."""
        if not self.members:
            return -1
        cosines = np.vecdot(self._units[: len(self.members)], row)
        best = int(np.argmax(cosines))
        return best if self.members[best] and cosines[best] >= floor - EDGE else -1

    def join(self, place: int, row: Floats) -> None:
        self.put(
            place,
            update_mean(self._means[place], self.members[place], row),
            self.members[place] + 1,
        )


def group_rows(rows: Floats, floor: float) -> list[list[int]]:
    """Group row indices greedily: nearest group at ``floor`` or above, else new."""
    centres = TopicCentres(rows.shape[1])
    groups: list[list[int]] = []
    for place, row in enumerate(rows):
        found = centres.nearest(row, floor)
        if found < 0:
            centres.add(row, 1)
            groups.append([place])
        else:
            centres.join(found, row)
            groups[found].append(place)
    return groups


def link_groups(centres: Floats, floor: float) -> list[list[int]]:
    """Group indices of centres linked by a cosine of at least ``floor``.

    Single ones are left out.
    """
    units = normalise_rows(centres)
    left = set(range(len(units)))
    found = []
    while left:
        group = []
        front = [left.pop()]
        while front:
            place = front.pop()
            group.append(place)
            near = {
                other
                for other in np.flatnonzero(np.vecdot(units, units[place]) >= floor - EDGE).tolist()
                if other in left
            }
            left -= near
            front += sorted(near)
        if len(group) > 1:
            found.append(sorted(group))
    return sorted(found)
