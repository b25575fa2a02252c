"""Views of the index: the slots that a query may see, cached between queries.

A ``VisibleIndexView`` holds the mask of these slots, the statistics that BM25 needs, and, once asked
for, their columns (``CandidateColumns``). Views and columns grow in place where only new slots came:
the older object is then used up, but arrays that somebody still holds keep their length.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from engrams.core.id_sequence import IdSequence
from engrams.frozen_data import dataclass
from engrams.index.columns import IndexColumns
from engrams.index.slots import NO_SLOTS, Flags, Floats, PostingSlots, Slots

WINDOW = (1.0, 0.7, 0.5)
"""Weights of a turn, the one before it and the one before that, in its windowed scores."""

_SPARE = 8
"""One part in this many of an array that grew is room for later slots."""
_FEW = 8
"""One slot for this many sessions from which they are counted all at once."""
_COPIED = ("embedded", "words", "question", "dated", "importance", "confidence")
"""Fields of the table that are columns of candidates under the same name."""


class TermPostings(NamedTuple):
    """Postings of one term in view, with what they score."""

    slots: PostingSlots
    """Slots that hold the term [postings]."""
    counts: Floats
    """Its counts there [postings]."""
    damped: Floats
    """Counts with what the lengths of the records add [postings]: the denominator of BM25."""
    idf: float
    """Inverse document frequency: worth of the term at weight 1."""
    gains: Floats
    """Scores at that worth [postings]."""


@dataclass(slots=True)
class TermPostingsCache:
    """Postings of the terms that a view was asked for."""

    room: int = 500_000
    """Slots that it still takes."""
    largest: int = 1_000
    """Slots of the commonest term that it takes."""
    by_term: dict[int, TermPostings] = field(default_factory=dict)

    def add(self, term: int, postings: TermPostings) -> None:
        """Keep a term's postings, where there is room."""
        size = len(postings.slots) + 1
        if size <= min(self.largest, self.room):
            self.by_term[term] = postings
            self.room -= size


@dataclass(frozen=True, slots=True)
class CandidateColumns:
    """Columns [candidates] of the records in ``slots``."""

    slots: Slots
    """Ascending."""
    ids: IdSequence
    before: Slots
    """Slot of the turn before in the session, -1 for none."""
    before2: Slots
    """Slot of the turn before that one, -1 for none."""
    after: Slots
    """Slot of the turn after in the session, -1 for none."""
    norm: Floats
    """Length of the weighted sum of the vectors of a turn and the two before it."""
    length: Floats
    """Weighted number of terms of a turn and the two before it."""
    embedded: Flags
    times: npt.NDArray[np.float64]
    """Seconds since 1970 at which it was said."""
    sessions: npt.NDArray[np.int64]
    """Number of the session."""
    voice: npt.NDArray[np.int64]
    """Number of speaker and role."""
    words: Floats
    question: Flags
    dated: Flags
    importance: Floats
    confidence: Floats


_PLAIN_COLUMNS = tuple(
    column.name for column in fields(CandidateColumns) if column.name not in ("ids", "after")
)
"""Columns that are arrays, and do not change when a turn follows."""


def gather(columns: IndexColumns, slots: Slots) -> CandidateColumns:
    """Gather the columns of some slots."""
    rows = columns.table.take(slots)
    # As wide as numpy's own indices: each look-up by narrower ones would widen them again.
    before = rows["before"].astype(np.int64)
    before2 = rows["before2"].astype(np.int64)
    lengths = columns["length"]
    length = lengths.take(slots) * np.float32(WINDOW[0])
    for weight, neighbours in zip(WINDOW[1:], (before, before2), strict=True):
        neighbour_lengths = np.where(neighbours >= 0, lengths.take(neighbours), np.float32(0))
        length += neighbour_lengths * np.float32(weight)
    return CandidateColumns(
        slots=slots,
        ids=IdSequence(columns.copy_ids(slots)),
        before=before,
        before2=before2,
        after=rows["after"].astype(np.int64),
        norm=np.maximum(rows["norm"], 1e-9),
        length=length,
        times=rows["said_at"].copy(),
        sessions=columns["session"].take(slots).astype(np.int64),
        voice=rows["voice"].astype(np.int64),
        **{name: rows[name].copy() for name in _COPIED},
    )


def extend_gathered(
    columns: IndexColumns, gathered: CandidateColumns, added: Slots, first_new: int
) -> CandidateColumns:
    """Append the slots ``added``; the old columns are used up.

    ``first_new``: slot from which all are new; of older ones only ``after`` may have changed, where
    a new one follows.
    """
    appended = gather(columns, added)
    joined: dict[str, Any] = {
        name: _append(getattr(gathered, name), getattr(appended, name))
        for name in (*_PLAIN_COLUMNS, "after")
    }
    # Older candidates that a new slot follows.
    followed = columns["before"][first_new:]
    positions = np.searchsorted(joined["slots"], followed)
    is_candidate = positions < len(joined["slots"])
    is_candidate[is_candidate] = joined["slots"][positions[is_candidate]] == followed[is_candidate]
    joined["after"][positions[is_candidate]] = columns["after"][followed[is_candidate]]
    return CandidateColumns(**joined, ids=gathered.ids.grown(appended.ids))


def change_gathered(
    columns: IndexColumns, gathered: CandidateColumns, removed: Slots, changed: Slots, added: Slots
) -> CandidateColumns:
    """Leave slots out, look up changed ones anew, and append new ones.

    Slots in order. Only ``after`` links of the others may change.
    """
    removed_positions = np.searchsorted(gathered.slots, removed)
    ids = list(gathered.ids)
    for position in reversed(removed_positions.tolist()):
        del ids[position]
    remaining: dict[str, Any] = {
        name: np.delete(getattr(gathered, name), removed_positions) for name in _PLAIN_COLUMNS
    }
    fresh = gather(columns, changed)
    changed_positions = np.searchsorted(remaining["slots"], changed)
    for name, column in remaining.items():
        column[changed_positions] = getattr(fresh, name)
    after = columns["after"][remaining["slots"]].astype(np.int64)
    remaining_columns = CandidateColumns(**remaining, ids=IdSequence(ids), after=after)
    return extend_gathered(columns, remaining_columns, added, columns.size)


def _append(array: npt.NDArray[Any], appended: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Append to an array, in the room behind it if any.

    Only the latest of a line may grow, as with ids: who holds an older one sees no more than its
    part.
    """
    size = len(array) + len(appended)
    room = array.base
    # numpy gives positions of a mask as a part of a table.
    if room is None or room.ndim > 1 or len(room) < size:
        room = np.empty(size + size // _SPARE + 64, array.dtype)
        room[: len(array)] = array
    room[len(array) : size] = appended
    return room[:size]


@dataclass(frozen=True, slots=True)
class VisibleIndexView:
    """Slots that a query may see, with statistics of their lengths in terms."""

    mask: Flags
    """Visible slots [slots]."""
    total: int
    """Number of visible slots."""
    words: float
    """Sum of their lengths."""
    squares: float
    """Sum of the squares of their lengths."""
    session_terms: Floats
    """Sum of their lengths by session [sessions]."""
    session_records: npt.NDArray[np.int32]
    """Number of them by session [sessions]."""
    sessions: int
    """Number of sessions that have some."""
    until: float
    """Seconds since 1970 at which one of them expires."""
    gathered: list[CandidateColumns] = field(default_factory=list)
    """Their columns, once asked for."""
    postings: TermPostingsCache = field(default_factory=TermPostingsCache)
    """Postings of terms asked for before."""

    @property
    def average(self) -> float:
        """Mean number of terms per record."""
        return self.words / self.total if self.total else 1.0

    @property
    def b(self) -> float:
        """BM25 length normalisation: 0.25 for short texts of similar lengths, as of chat turns.

        Similar: their standard deviation is less than their mean. Else it is the usual 0.75.
        """
        average = self.average
        variance = self.squares / self.total - average * average if self.total else 0.0
        return 0.25 if variance < max(average, 1e-9) ** 2 and average < 40 else 0.75

    @property
    def session_length(self) -> float:
        """Mean number of terms per session."""
        return self.words / max(self.sessions, 1)

    def gather_all(self, columns: IndexColumns) -> CandidateColumns:
        """Columns of all visible slots, gathered once."""
        if not self.gathered:
            self.gathered.append(gather(columns, np.flatnonzero(self.mask)))
        return self.gathered[0]


_EMPTY = VisibleIndexView(
    mask=np.zeros(0, np.bool_),
    total=0,
    words=0.0,
    squares=0.0,
    session_terms=np.zeros(0, np.float32),
    session_records=np.zeros(0, np.int32),
    sessions=0,
    until=np.inf,
)


class MaskChange(NamedTuple):
    """Another mask of a view, with its difference from the old one."""

    mask: Flags
    """[slots], of which there may be more than before."""
    added: Slots
    removed: Slots


def make_view(columns: IndexColumns, mask: Flags, sessions: int, now: float) -> VisibleIndexView:
    """Make the view of a mask at ``now`` (seconds since 1970); ``sessions``: number of all."""
    change = MaskChange(mask, np.flatnonzero(mask), NO_SLOTS)
    return change_view(columns, _EMPTY, change, sessions, now)


def extend_view(
    columns: IndexColumns, view: VisibleIndexView, new_mask: Flags, sessions: int, now: float
) -> VisibleIndexView:
    """Extend a view by the mask of new slots, reusing gathered columns.

    The old view is used up, as by ``change_view``.
    """
    size = len(view.mask)
    added = size + np.flatnonzero(new_mask)
    change = MaskChange(_append(view.mask, new_mask), added, NO_SLOTS)
    extended = change_view(columns, view, change, sessions, now)
    extended.gathered.extend(
        extend_gathered(columns, gathered, added, size) for gathered in view.gathered
    )
    return extended


def change_view(
    columns: IndexColumns, view: VisibleIndexView, change: MaskChange, sessions: int, now: float
) -> VisibleIndexView:
    """Make the view of another mask, at the cost of the difference.

    The old view is used up: its counts are changed in place. Lengths are whole numbers: sums of
    them are exact, in any order.
    """
    session_terms = _pad(view.session_terms, sessions)
    session_records = _pad(view.session_records, sessions)
    total = view.total
    words = view.words
    squares = view.squares
    for sign, slots in ((1, change.added), (-1, change.removed)):
        if not len(slots):
            continue
        rows = _to_rows(slots, columns)
        lengths = columns["length"][rows]
        numbers = columns["session"][rows]
        total += sign * len(slots)
        words += sign * float(lengths.sum(dtype=np.float64))
        squares += sign * float(np.square(lengths, dtype=np.float64).sum())
        if len(slots) * _FEW > sessions:
            session_terms += sign * np.bincount(numbers, lengths, sessions).astype(np.float32)
            session_records += sign * np.bincount(numbers, minlength=sessions).astype(np.int32)
        else:
            np.add.at(session_terms, numbers, sign * lengths)
            np.add.at(session_records, numbers, sign)
    ends = columns["valid_to"][_to_rows(change.added, columns)]
    until = float(min(view.until, ends[ends > now].min(initial=np.inf)))
    return VisibleIndexView(
        mask=change.mask,
        total=total,
        words=words,
        squares=squares,
        session_terms=session_terms,
        session_records=session_records,
        sessions=int(np.count_nonzero(session_records)),
        until=until,
    )


def _pad(counts: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Append zeros to an array, up to a size."""
    return _append(counts, np.zeros(size - len(counts), counts.dtype))


def _to_rows(slots: Slots, columns: IndexColumns) -> Slots | slice:
    """Slots to look up; all of them at once where none is missing, not one by one."""
    return slice(None) if len(slots) == columns.size else slots
