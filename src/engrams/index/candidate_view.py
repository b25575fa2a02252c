"""Visible slots of a query: their columns and statistics, cached between queries."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from engrams.core.positioned_ids import PositionedIds
from engrams.frozen_data import dataclass
from engrams.index.columns import IndexColumns

WINDOW = (1.0, 0.7, 0.5)
"""Weights of a turn, the one before it and the one before that, in its windowed scores."""

_OTHERS = frozenset(("ids", "after"))
_ROOM = 8
"""One part in this many of what was gathered is room for later slots."""
_FEW = 8
"""One slot for this many sessions from which they are counted all at once."""
_COPIED = ("embedded", "words", "question", "dated", "importance", "confidence")

_NONE = np.zeros(0, np.int64)


class TermPostings(NamedTuple):
    """Slots that hold a term, and its counts there.

    ``damped``: counts with what the lengths of the records add. ``idf``: worth of the term at
    weight 1; ``gains``: its scores at that.
    """

    slots: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    damped: npt.NDArray[np.float32]
    idf: float
    gains: npt.NDArray[np.float32]


@dataclass(slots=True)
class TermPostingsCache:
    """Postings of the terms that a view was asked for.

    ``room``: slots that it still takes; ``largest``: those of one term.
    """

    room: int = 500_000
    largest: int = 1_000
    by_term: dict[int, TermPostings] = field(default_factory=dict)

    def add(self, term: int, postings: TermPostings) -> None:
        """Keep a term's postings, where there is room."""
        taken = len(postings.slots) + 1
        if taken <= min(self.largest, self.room):
            self.by_term[term] = postings
            self.room -= taken


@dataclass(frozen=True, slots=True)
class CandidateColumns:
    """Columns of the candidates in ``slots``.

    ``length``: weighted number of terms of a turn and the two before it. ``before``, ``before2``,
    ``after``: slots of the neighbours in the session, -1 for none.
    """

    slots: npt.NDArray[np.int64]
    ids: PositionedIds
    before: npt.NDArray[np.int64]
    before2: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]
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


def extend_gathered(
    columns: IndexColumns, old: CandidateColumns, more: npt.NDArray[np.int64], first: int
) -> CandidateColumns:
    """Append the slots ``more``; the old columns are used up.

    ``first``: slot from which all are new; of older ones only ``after`` may have changed, where a
    new one follows.
    """
    new = gather(columns, more)
    joined: dict[str, Any] = {
        each.name: _append(getattr(old, each.name), getattr(new, each.name))
        for each in fields(CandidateColumns)
        if each.name != "ids"
    }
    followed = columns["before"][first:]
    places = np.searchsorted(joined["slots"], followed)
    there = places < len(joined["slots"])
    there[there] = joined["slots"][places[there]] == followed[there]
    joined["after"][places[there]] = columns["after"][followed[there]]
    return CandidateColumns(**joined, ids=old.ids.grown(new.ids))


def change_gathered(
    columns: IndexColumns,
    old: CandidateColumns,
    removed: npt.NDArray[np.int64],
    changed: npt.NDArray[np.int64],
    more: npt.NDArray[np.int64],
) -> CandidateColumns:
    """Leave slots out, look up changed ones anew, and append new ones.

    Slots in order. Only ``after`` links of the others may change.
    """
    gone = np.searchsorted(old.slots, removed)
    names = list(old.ids)
    again = gather(columns, changed)
    for place in reversed(gone.tolist()):
        del names[place]
    kept: dict[str, Any] = {
        each.name: np.delete(getattr(old, each.name), gone)
        for each in fields(CandidateColumns)
        if each.name not in _OTHERS
    }
    places = np.searchsorted(kept["slots"], changed)
    for name, column in kept.items():
        column[places] = getattr(again, name)
    after = columns["after"][kept["slots"]].astype(np.int64)
    return extend_gathered(
        columns, CandidateColumns(**kept, ids=PositionedIds(names), after=after), more, columns.size
    )


def _append(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Append to an array, in the room behind it if any.

    Only the latest of a line may grow, as with ids: who holds an older one sees no more than its
    part.
    """
    size = len(old) + len(new)
    room = old.base
    if (
        room is None or room.ndim > 1 or len(room) < size
    ):  # numpy gives places of a mask as a part of a table
        room = np.empty(size + size // _ROOM + 64, old.dtype)
        room[: len(old)] = old
    room[len(old) : size] = new
    return room[:size]


def gather(columns: IndexColumns, slots: npt.NDArray[np.int64]) -> CandidateColumns:
    """Gather the columns of these slots."""
    rows = columns.table.take(slots)
    # As wide as numpy's own indices: each look-up by narrower ones would widen them again.
    before = rows["before"].astype(np.int64)
    before2 = rows["before2"].astype(np.int64)
    length = columns["length"].take(slots) * np.float32(WINDOW[0])
    for weight, place in zip(WINDOW[1:], (before, before2), strict=True):
        length += np.where(place >= 0, columns["length"].take(place), np.float32(0)) * np.float32(
            weight
        )
    return CandidateColumns(
        slots=slots,
        ids=PositionedIds(columns.copy_ids(slots)),
        before=before,
        before2=before2,
        after=rows["after"].astype(np.int64),
        norm=np.maximum(rows["norm"], 1e-9),
        length=length,
        times=rows["said"].copy(),
        sessions=columns["session"].take(slots).astype(np.int64),
        place=rows["place"].astype(np.int64),
        voice=rows["voice"].astype(np.int64),
        **{name: rows[name].copy() for name in _COPIED},
    )


@dataclass(frozen=True, slots=True)
class VisibleIndexView:
    """Mask of the slots a query may see, with length statistics.

    ``words`` and ``squares``: sums of their lengths in terms and of the squares of these.
    ``session_terms`` and ``session_records``: terms and slots by session number. ``until``: seconds
    since 1970 at which a slot expires. ``gathered``: its columns, once asked for; ``postings``:
    those of terms asked for before.
    """

    mask: npt.NDArray[np.bool_]
    total: int
    words: float
    squares: float
    session_terms: npt.NDArray[np.float32]
    session_records: npt.NDArray[np.int32]
    sessions: int
    until: float
    gathered: list[CandidateColumns] = field(default_factory=list)
    postings: TermPostingsCache = field(default_factory=TermPostingsCache)

    @property
    def average(self) -> float:
        """Mean number of terms per record."""
        return self.words / self.total if self.total else 1.0

    @property
    def b(self) -> float:
        """BM25 length normalisation: low for similar lengths, as of chat turns."""
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


_NOTHING = VisibleIndexView(
    mask=np.zeros(0, np.bool_),
    total=0,
    words=0.0,
    squares=0.0,
    session_terms=np.zeros(0, np.float32),
    session_records=np.zeros(0, np.int32),
    sessions=0,
    until=np.inf,
)


def make_view(
    columns: IndexColumns, mask: npt.NDArray[np.bool_], sessions: int, now: float
) -> VisibleIndexView:
    """View of ``mask`` at ``now``, with its statistics."""
    return change_view(columns, _NOTHING, mask, (np.flatnonzero(mask), _NONE), sessions, now)


def extend_view(
    columns: IndexColumns,
    old: VisibleIndexView,
    fresh: npt.NDArray[np.bool_],
    sessions: int,
    now: float,
) -> VisibleIndexView:
    """Extend a view by the mask of new slots, reusing gathered columns.

    The old view is used up, as by ``change_view``.
    """
    added = len(old.mask) + np.flatnonzero(fresh)
    made = change_view(columns, old, _append(old.mask, fresh), (added, _NONE), sessions, now)
    made.gathered.extend(
        extend_gathered(columns, known, added, len(old.mask)) for known in old.gathered
    )
    return made


def change_view(
    columns: IndexColumns,
    old: VisibleIndexView,
    mask: npt.NDArray[np.bool_],
    changed: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    sessions: int,
    now: float,
) -> VisibleIndexView:
    """View of another mask, at the cost of the difference.

    The old view is used up: its counts are changed in place. ``changed``: slots that the mask has
    more, and those that it has no more. Lengths are whole numbers: sums of them are exact, in any
    order.
    """
    terms, records = (
        _append(each, np.zeros(sessions - len(each), each.dtype))
        for each in (old.session_terms, old.session_records)
    )
    total = old.total
    words = old.words
    squares = old.squares
    for sign, slots in zip((1, -1), changed, strict=True):
        if not len(slots):
            continue
        some = (
            slice(None) if len(slots) == columns.size else slots
        )  # all at once: nothing is looked up one by one
        lengths = columns["length"][some]
        inside = columns["session"][some]
        total += sign * len(slots)
        words += sign * float(lengths.sum(dtype=np.float64))
        squares += sign * float(np.square(lengths, dtype=np.float64).sum())
        if len(slots) * _FEW > sessions:
            terms += sign * np.bincount(inside, lengths, sessions).astype(np.float32)
            records += sign * np.bincount(inside, minlength=sessions).astype(np.int32)
        else:
            np.add.at(terms, inside, sign * lengths)
            np.add.at(records, inside, sign)
    ends = columns["valid_to"][slice(None) if len(changed[0]) == columns.size else changed[0]]
    until = float(min(old.until, ends[ends > now].min(initial=np.inf)))
    return VisibleIndexView(
        mask=mask,
        total=total,
        words=words,
        squares=squares,
        session_terms=terms,
        session_records=records,
        sessions=int(np.count_nonzero(records)),
        until=until,
    )
