"""Greedy clustering of vectors around their means. Pure.

A centre is the running mean of its members and is not normalised; cosines are taken with its unit
vector. A row joins the nearest centre whose cosine is at least the floor, else it begins a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

TOLERANCE = 1e-6
"""Rounding of float32 cosines: a floor includes what is equal to it."""

_FIRST_CAPACITY = 16
"""Rows reserved at first; doubled when they are full."""


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
        self._means = np.zeros((_FIRST_CAPACITY, dimension), np.float32)
        self._units = np.zeros((_FIRST_CAPACITY, dimension), np.float32)
        self.members: list[int] = []
        """Number of members by index."""

    def __len__(self) -> int:
        return len(self.members)

    def centre(self, index: int) -> Floats:
        return np.asarray(self._means[index], np.float32)

    def add(self, centre: Floats, members: int) -> int:
        """Add a topic; returns its index."""
        index = len(self.members)
        if index == len(self._means):
            self._means = np.concatenate([self._means, np.zeros_like(self._means)])
            self._units = np.concatenate([self._units, np.zeros_like(self._units)])
        self.members.append(members)
        self.put(index, centre, members)
        return index

    def put(self, index: int, centre: Floats, members: int) -> None:
        """Replace a centre; a topic without members attracts nothing."""
        self.members[index] = members
        self._means[index] = centre
        self._units[index] = normalise_rows(centre) if members else 0.0

    def nearest(self, row: Floats, floor: float) -> int:
        """Return the index of the nearest centre from ``floor`` on, else -1."""
        if not self.members:
            return -1
        cosines = np.vecdot(self._units[: len(self.members)], row)
        best = int(np.argmax(cosines))
        return best if self.members[best] and cosines[best] >= floor - TOLERANCE else -1

    def join(self, index: int, row: Floats) -> None:
        """Add a row to a topic."""
        members = self.members[index]
        self.put(index, update_mean(self._means[index], members, row), members + 1)


def group_rows(rows: Floats, floor: float) -> list[list[int]]:
    """Group row indices greedily: nearest group at ``floor`` or above, else new."""
    centres = TopicCentres(rows.shape[1])
    groups: list[list[int]] = []
    for index, row in enumerate(rows):
        nearest = centres.nearest(row, floor)
        if nearest < 0:
            centres.add(row, 1)
            groups.append([index])
        else:
            centres.join(nearest, row)
            groups[nearest].append(index)
    return groups


def link_groups(centres: Floats, floor: float) -> list[list[int]]:
    """Group indices of centres linked by a cosine of at least ``floor``, over any number of links.

    Single ones are left out.
    """
    units = normalise_rows(centres)
    unvisited = set(range(len(units)))
    groups = []
    while unvisited:
        group = []
        frontier = [unvisited.pop()]
        while frontier:
            index = frontier.pop()
            group.append(index)
            cosines = np.vecdot(units, units[index])
            neighbours = unvisited & set(np.flatnonzero(cosines >= floor - TOLERANCE).tolist())
            unvisited -= neighbours
            frontier += sorted(neighbours)
        if len(group) > 1:
            groups.append(sorted(group))
    return sorted(groups)
