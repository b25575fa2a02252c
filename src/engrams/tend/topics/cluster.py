"""Greedy grouping of vectors around centres (000). Centres are plain means, not of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from engrams.ports.search import Floats

EDGE = 1e-6
"""Cosines are float32: a floor includes what is equal to it."""


def normalise_rows(rows: Floats) -> Floats:
    """Each row at length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), np.float32)


def mean(rows: Floats) -> Floats:
    """Their mean."""
    return np.asarray(rows.mean(axis=0), np.float32)


def update_mean(centre: Floats, members: int, row: Floats) -> Floats:
    """The mean of ``members`` rows, of which ``centre`` is the mean so far, and one more."""
    return np.asarray((centre * members + row) / (members + 1), np.float32)


class TopicCentres:
    """The centres of topics, growing as rows join them."""

    def __init__(self, dimension: int) -> None:
        self._means = np.zeros((16, dimension), np.float32)
        self._units = np.zeros((16, dimension), np.float32)
        self.members: list[int] = []

    def __len__(self) -> int:
        return len(self.members)

    def centre(self, place: int) -> Floats:
        return np.asarray(self._means[place], np.float32)

    def add(self, centre: Floats, members: int) -> int:
        """A topic more; its place."""
        place = len(self.members)
        if place == len(self._means):
            self._means, self._units = (np.concatenate([rows, np.zeros_like(rows)]) for rows in (self._means, self._units))
        self.members.append(members)
        self.put(place, centre, members)
        return place

    def put(self, place: int, centre: Floats, members: int) -> None:
        """Another centre for a topic; one without members attracts nothing."""
        self.members[place] = members
        self._means[place] = centre
        self._units[place] = normalise_rows(centre) if members else 0.0

    def nearest(self, row: Floats, floor: float) -> int:
        """The place of the topic whose centre is nearest to the row, if at least ``floor``; else -1."""
        if not self.members:
            return -1
        cosines = np.vecdot(self._units[: len(self.members)], row)
        best = int(np.argmax(cosines))
        return best if self.members[best] and cosines[best] >= floor - EDGE else -1

    def join(self, place: int, row: Floats) -> None:
        """The row becomes a member: the centre is the running mean."""
        self.put(place, update_mean(self._means[place], self.members[place], row), self.members[place] + 1)


def group_rows(rows: Floats, floor: float) -> list[list[int]]:
    """Places of rows, in their order: each joins the nearest group from ``floor`` on, or begins one."""
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
    """Groups of places whose centres are linked by a cosine of at least ``floor``; those that stand alone are left out."""
    units = normalise_rows(centres)
    left = set(range(len(units)))
    found = []
    while left:
        group, front = [], [left.pop()]
        while front:
            place = front.pop()
            group.append(place)
            near = {other for other in np.flatnonzero(np.vecdot(units, units[place]) >= floor - EDGE).tolist() if other in left}
            left -= near
            front += sorted(near)
        if len(group) > 1:
            found.append(sorted(group))
    return sorted(found)


def cosines(centres: Sequence[Floats], row: Floats) -> Floats:
    """Of each centre to the row."""
    if not centres:
        return np.zeros(0, np.float32)
    return np.asarray(np.vecdot(normalise_rows(np.stack(centres)), row), np.float32)
