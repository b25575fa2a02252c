"""Visible slots of a query: their columns and statistics, cached between queries."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.ports import IndexedIds
from engrams.store.index.columns import IndexColumns

WINDOW = (1.0, 0.7, 0.5)
"""Weights of a turn, the one before it and the one before that, in its windowed scores."""

_OTHERS = frozenset(("ids", "after"))
_COPIED = ("embedded", "words", "question", "dated", "importance", "confidence")


@dataclass(frozen=True, slots=True)
class CandidateColumns:
    """Columns of the candidates in ``slots``.

    ``length``: weighted number of terms of a turn and the two before it. ``before``, ``before2``, ``after``: slots of the neighbours in the
    session, -1 for none."""

    slots: npt.NDArray[np.int64]
    ids: IndexedIds
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


def extend_gathered(columns: IndexColumns, old: CandidateColumns, more: npt.NDArray[np.int64]) -> CandidateColumns:
    """Append new slots; only ``after`` links of old ones may change."""
    new = gather(columns, more)
    joined: dict[str, Any] = {
        each.name: np.concatenate([getattr(old, each.name), getattr(new, each.name)])
        for each in fields(CandidateColumns)
        if each.name not in _OTHERS
    }
    return CandidateColumns(**joined, ids=old.ids.grown(new.ids), after=columns["after"][joined["slots"]])


def gather(columns: IndexColumns, slots: npt.NDArray[np.int64]) -> CandidateColumns:
    """Gather the columns of these slots."""
    before, before2 = columns["before"][slots], columns["before2"][slots]
    length = columns["length"][slots] * np.float32(WINDOW[0])
    for weight, place in zip(WINDOW[1:], (before, before2), strict=True):
        length += np.where(place >= 0, columns["length"][place], np.float32(0)) * np.float32(weight)
    return CandidateColumns(
        slots=slots,
        ids=IndexedIds(columns["id"][slots].tolist()),
        before=before,
        before2=before2,
        after=columns["after"][slots],
        norm=np.maximum(columns["norm"][slots], 1e-9),
        length=length,
        times=columns["said"][slots],
        sessions=columns["session"][slots].astype(np.int64),
        place=columns["place"][slots].astype(np.int64),
        voice=columns["voice"][slots].astype(np.int64),
        **{name: columns[name][slots] for name in _COPIED},
    )


@dataclass(frozen=True, slots=True)
class IndexView:
    """Mask of ``total`` visible slots, with their length statistics.

    ``average``: terms a record. ``b``: BM25 length normalisation. ``session_terms``: terms by session number. ``sessions``: number of
    visible sessions; ``session_length``: terms a session. ``until``: seconds since 1970 at which a slot expires. ``gathered``: its columns,
    once asked for."""

    mask: npt.NDArray[np.bool_]
    total: int
    average: float
    b: float
    session_terms: npt.NDArray[np.float32]
    sessions: int
    session_length: float
    until: float
    gathered: list[CandidateColumns] = field(default_factory=list)

    def gather_all(self, columns: IndexColumns) -> CandidateColumns:
        """Columns of all visible slots, gathered once."""
        if not self.gathered:
            self.gathered.append(gather(columns, np.flatnonzero(self.mask)))
        return self.gathered[0]


def extend_view(columns: IndexColumns, old: IndexView, fresh: npt.NDArray[np.bool_], sessions: int, now: float) -> IndexView:
    """Extend a view by the mask of new slots, reusing gathered columns."""
    made = make_view(columns, np.concatenate([old.mask, fresh]), sessions, now)
    made.gathered.extend(extend_gathered(columns, known, len(old.mask) + np.flatnonzero(fresh)) for known in old.gathered)
    return made


def make_view(columns: IndexColumns, mask: npt.NDArray[np.bool_], sessions: int, now: float) -> IndexView:
    """View of ``mask`` at ``now``, with its statistics."""
    slots = np.flatnonzero(mask)
    lengths = columns["length"][slots]
    average, b = _measure_lengths(lengths)
    inside = columns["session"][slots]
    session_terms = np.bincount(inside, weights=lengths, minlength=sessions).astype(np.float32)
    sessions_in_view = int((np.bincount(inside, minlength=sessions) > 0).sum())
    ends = columns["valid_to"][slots]
    coming = ends[ends > now]
    until = float(coming.min()) if len(coming) else np.inf
    return IndexView(
        mask, len(slots), average, b, session_terms, sessions_in_view, float(session_terms.sum()) / max(sessions_in_view, 1), until
    )


def _measure_lengths(lengths: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Average length and b: low for similar lengths, as of chat turns."""
    average = float(lengths.mean()) if len(lengths) else 1.0
    spread = float(lengths.std()) / max(average, 1e-9) if len(lengths) else 0.0
    return average, 0.25 if spread < 1.0 and average < 40 else 0.75
