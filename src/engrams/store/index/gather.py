"""What the index tells of candidates whatever the query: gathered once for a view, or for the few that a large scope offers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.ports import Ids
from engrams.store.index.columns import Columns

WINDOW = (1.0, 0.7, 0.5)
"""Weights of a turn, the one before it and the one before that, in its windowed scores."""

_OTHERS = frozenset(("ids", "after"))


@dataclass(frozen=True, slots=True)
class Told:
    """Columns of the candidates in ``slots``. ``length``: weighted terms of a turn with the two before it; slots before and
    after it are -1 where there is none."""

    slots: npt.NDArray[np.int64]
    ids: Ids
    before: npt.NDArray[np.int32]
    before2: npt.NDArray[np.int32]
    after: npt.NDArray[np.int32]
    norm: npt.NDArray[np.float32]
    length: npt.NDArray[np.float32]
    embedded: npt.NDArray[np.bool_]
    times: npt.NDArray[np.float64]
    sessions: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    voice: npt.NDArray[np.int64]
    words: npt.NDArray[np.float32]
    question: npt.NDArray[np.bool_]
    dated: npt.NDArray[np.bool_]
    importance: npt.NDArray[np.float32]
    confidence: npt.NDArray[np.float32]


def grown(columns: Columns, old: Told, more: npt.NDArray[np.int64]) -> Told:
    """With others behind them, which were added since and changed nothing but what comes after whom."""
    new = told(columns, more)
    joined: dict[str, Any] = {
        each.name: np.concatenate([getattr(old, each.name), getattr(new, each.name)]) for each in fields(Told) if each.name not in _OTHERS
    }
    return Told(**joined, ids=old.ids.grown(new.ids), after=columns["after"][joined["slots"]])


def told(columns: Columns, slots: npt.NDArray[np.int64]) -> Told:
    """Of these candidates."""
    before, before2 = columns["before"][slots], columns["before2"][slots]
    length = columns["length"][slots] * np.float32(WINDOW[0])
    for weight, place in zip(WINDOW[1:], (before, before2), strict=True):
        length += np.where(place >= 0, columns["length"][place], np.float32(0)) * np.float32(weight)
    return Told(
        slots=slots,
        ids=Ids(columns["id"][slots].tolist()),
        before=before,
        before2=before2,
        after=columns["after"][slots],
        norm=np.maximum(columns["norm"][slots], 1e-9),
        length=length,
        embedded=columns["embedded"][slots],
        times=columns["said"][slots],
        sessions=columns["session"][slots].astype(np.int64),
        place=columns["place"][slots].astype(np.int64),
        voice=columns["voice"][slots].astype(np.int64),
        words=columns["words"][slots],
        question=columns["question"][slots],
        dated=columns["dated"][slots],
        importance=columns["importance"][slots],
        confidence=columns["confidence"][slots],
    )
