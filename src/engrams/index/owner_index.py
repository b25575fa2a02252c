"""Search index of one owner and one embedding model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from engrams.core import Kind, Status
from engrams.index.ann import join_slots, top_slots, unique_sorted
from engrams.index.bm25 import Bm25Scores, find_holding, score_terms
from engrams.index.candidate_view import (
    WINDOW,
    CandidateColumns,
    VisibleIndexView,
    change_gathered,
    change_view,
    extend_view,
    gather,
    make_view,
)
from engrams.index.columns import DamagedIndexError, IndexColumns
from engrams.index.segment_file import SegmentContent
from engrams.index.state import STATUS_CODES, IndexRowApplier, OwnerIndexState
from engrams.ports import CandidatePool, CandidateSearchQuery, ScopeReach

_VIEWS = 8
_TOUCHED = 10_000
"""Changes of slots that are remembered to bring views up to date."""
_ALL = slice(None)
_NONE = np.zeros(0, np.int64)
_Some: TypeAlias = "slice | npt.NDArray[np.int64]"
_Floats: TypeAlias = npt.NDArray[np.float32]
_PASSED = (
    "embedded",
    "times",
    "sessions",
    "place",
    "voice",
    "words",
    "question",
    "dated",
    "importance",
    "confidence",
)
_ViewKey: TypeAlias = tuple[ScopeReach, tuple[Kind, ...], bool]


class _KeptView(NamedTuple):
    """View, its time, and the numbers of changes that it knows."""

    view: VisibleIndexView
    since: float
    touched: int
    relinked: int


class OwnerSearchIndex:
    """Search index of one owner: columns, vectors and postings.

    Not thread safe: the caller holds a lock.
    """

    def __init__(self, dimension: int, state: OwnerIndexState | None = None) -> None:
        self.state = state or OwnerIndexState(IndexColumns(dimension))
        """Arrays and names, and their form as a file."""
        self.updates = IndexRowApplier(self.state)
        """Inserts and changes rows."""
        self._columns = self.state.columns
        self._views: dict[_ViewKey, _KeptView] = {}

    @classmethod
    def restore(cls, segment: SegmentContent) -> OwnerSearchIndex:
        """Rebuild the index from a segment that ``dump`` made.

        SegmentFileError: it cannot be searched on this machine.
        """
        state = OwnerIndexState.restore(segment)
        return cls(state.columns.dimension, state)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._columns["alive"]))

    @staticmethod
    def _split_voice(name: str) -> tuple[str, str]:
        speaker, _, role = name.partition("\x1f")
        return speaker, role

    def pool(
        self,
        seek: CandidateSearchQuery,
        terms: Sequence[tuple[int, float]],
        unknown: float,
        allowed: npt.NDArray[np.int64] | None,
        exact_limit: int,
        identifiers: Sequence[Sequence[int]] = (),
    ) -> CandidatePool:
        """Candidates: everything in reach up to ``exact_limit``, else the best by source.

        ``terms``: ids and weights; ``unknown``: summed weight of query words that no record holds;
        ``allowed``: row numbers; ``identifiers``: ids of the terms of each. IndexError: the index
        is damaged.
        """
        seen = self._get_view(seek, allowed)
        exact = seen.total <= exact_limit
        with self._start_finding(None if exact else seek.vector, seen, seek.width) as near:
            words = score_terms(self._columns, self.state.postings, seen, terms, unknown)
            words = words if seek.alone else words.count_sessions(self._columns, seen)
            named = find_holding(self._columns, self.state.postings, seen, identifiers)
            best = (
                _NONE
                if exact
                else np.concatenate([top_slots(words.bm, seek.width), named[-seek.width :]])
            )
        some = (
            seen.gather_all(self._columns)
            if exact
            else gather(self._columns, self._add_followers(seen, [best, near()]))
        )
        identified = (
            np.isin(some.slots, named) if len(named) else np.zeros(len(some.slots), np.bool_)
        )
        return self._build_pool(seek, some, words, seen, identified, exact)

    def _start_finding(
        self, vector: _Floats | None, seen: VisibleIndexView, width: int
    ) -> AbstractContextManager[Callable[[], npt.NDArray[np.int64]]]:
        """Find the nearest slots in a thread, beside the words."""
        if vector is None or not self._columns.dimension:
            return nullcontext(lambda: _NONE)
        return self.state.nearest.start_finding(self._columns, vector, seen.mask, width)

    def _get_view(
        self, seek: CandidateSearchQuery, allowed: npt.NDArray[np.int64] | None
    ) -> VisibleIndexView:
        """Cached or changed view, unless something in it expired."""
        now = seek.now.timestamp()
        if len(self.updates.touched) > _TOUCHED:
            self._views.clear()
            self.updates.touched.clear()
        if allowed is not None or seek.as_of is not None:
            return make_view(
                self._columns, self._build_mask(seek, allowed), len(self.state.last), now
            )
        key = (seek.reach, seek.kinds, seek.history)
        kept = self._views.pop(key, None)
        if kept is not None and kept.since <= now < kept.view.until:
            view = self._refresh_view(seek, kept, now)
        else:
            view = make_view(self._columns, self._build_mask(seek, None), len(self.state.last), now)
        while len(self._views) >= _VIEWS:
            del self._views[next(iter(self._views))]
        self._views[key] = _KeptView(view, now, len(self.updates.touched), self.updates.relinked)
        return view

    def _refresh_view(
        self, seek: CandidateSearchQuery, kept: _KeptView, now: float
    ) -> VisibleIndexView:
        """Bring a view up to date, at the cost of what changed."""
        old = kept.view
        columns = self._columns
        sessions = len(self.state.last)
        size = len(old.mask)
        touched = self.updates.touched[kept.touched :]
        if size == columns.size and not touched:
            return old
        fresh = self._build_mask(seek, None, slice(size, None))
        if not touched:
            return extend_view(columns, old, fresh, sessions, now)
        places = unique_sorted(np.array(touched, np.int64))
        places = places[places < size]
        mask = np.concatenate([old.mask, fresh])
        mask[places] = self._build_mask(seek, None, places)
        added = places[mask[places] & ~old.mask[places]]
        removed = places[old.mask[places] & ~mask[places]]
        more = size + np.flatnonzero(fresh)
        made = change_view(
            columns, old, mask, (np.concatenate([added, more]), removed), sessions, now
        )
        if not len(added) and kept.relinked == self.updates.relinked:
            made.gathered.extend(
                change_gathered(columns, known, removed, places[mask[places]], more)
                for known in old.gathered
            )
        return made

    def _build_mask(
        self, seek: CandidateSearchQuery, allowed: npt.NDArray[np.int64] | None, some: _Some = _ALL
    ) -> npt.NDArray[np.bool_]:
        columns = self._columns
        moment = seek.now.timestamp()
        if seek.as_of is not None:
            valid = seek.as_of.valid.timestamp() if seek.as_of.valid else moment
            known = seek.as_of.known.timestamp() if seek.as_of.known else moment
            mask = (columns["recorded"][some] <= known) & (known < columns["retired"][some])
            mask &= columns["valid_from"][some] <= valid
            mask &= (valid < columns["valid_to"][some]) | (known < columns["ended"][some])
        elif seek.history:
            mask = np.ones(len(columns["alive"][some]), np.bool_)
        else:
            mask = (columns["status"][some] == STATUS_CODES[Status.ACTIVE]) & (
                moment < columns["valid_to"][some]
            )
        mask &= columns["alive"][some]
        keys = [*map(attrgetter("key"), seek.reach.scopes)]
        below = tuple(f"{key}/" for key in keys) if seek.reach.tree else ()
        inside = np.array(
            [name in keys or name.startswith(below) for name in self.state.scopes.names], np.bool_
        )
        if not inside.all():
            mask &= inside[columns["scope"][some]]
        if seek.kinds:
            codes = [code for kind in seek.kinds if (code := self.state.kinds.find(kind)) >= 0]
            mask &= np.isin(columns["kind"][some], codes)
        if allowed is not None:
            mask &= np.isin(columns["rowid"][some], allowed)
        return mask

    def _add_followers(
        self, seen: VisibleIndexView, chosen: list[npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.int64]:
        """Add the two turns after each slot; only those in view.

        Windowed scores reach these.
        """
        front = np.concatenate(chosen)
        after = self._columns["after"]
        for _ in range(2):
            front = after[front].astype(np.int64)
            front = front[front >= 0]
            chosen.append(front)
        found = join_slots(chosen, self._columns.size)
        kept: npt.NDArray[np.int64] = found[seen.mask[found]]
        return kept

    def _build_pool(
        self,
        seek: CandidateSearchQuery,
        some: CandidateColumns,
        words: Bm25Scores,
        seen: VisibleIndexView,
        identified: npt.NDArray[np.bool_],
        exact: bool,
    ) -> CandidatePool:
        voices = [self._split_voice(name) for name in self.state.voices.names]
        if some.voice.max(initial=-1) >= len(voices):
            raise DamagedIndexError("a voice has no name")
        cos, cosctx, cosnext = self._cosines(seek, some)
        nothing = np.zeros(len(some.slots), np.float32)
        return CandidatePool(
            ids=some.ids,
            cos=cos,
            cosctx=cosctx,
            cosnext=cosnext,
            bm=words.bm[some.slots],
            bmctx=nothing if seek.alone else words.score_windows(self._columns.size, some),
            bmses=nothing if seek.alone else words.score_sessions(seen, some),
            voices=voices,
            identified=identified,
            **{name: getattr(some, name) for name in _PASSED},
            total=seen.total,
            exact=exact,
            has_triggers=self.state.has_triggers,
        )

    def _cosines(
        self, seek: CandidateSearchQuery, some: CandidateColumns
    ) -> tuple[_Floats, _Floats, _Floats]:
        columns = self._columns
        slots = some.slots
        nothing = np.zeros(len(slots), np.float32)
        if seek.vector is None or not columns.dimension or not len(slots):
            return nothing, nothing, nothing
        if len(slots) * 3 > columns.size and not columns.is_quantized:
            dots = np.zeros(columns.size + 1, np.float32)
            # Not a matrix product: BLAS would split it among threads that wait for each other on a
            # busy machine.
            np.vecdot(columns.vectors, seek.vector, out=dots[:-1])
            plain = dots[slots]
            before = dots[some.before]
            before2 = dots[some.before2]
            after = dots[some.after]
        else:
            plain, before, before2, after = self._dot_neighbours(
                seek.vector, (slots, some.before, some.before2, some.after)
            )
        if seek.alone:
            return plain, nothing, nothing
        window = WINDOW[0] * plain + WINDOW[1] * before + WINDOW[2] * before2
        return plain, (window / some.norm).astype(np.float32), after

    def _dot_neighbours(
        self, vector: _Floats, groups: Sequence[npt.NDArray[np.int64]]
    ) -> list[_Floats]:
        """Dot products of groups of slots; each slot is read once.

        Slot -1 gives 0.
        """
        found = join_slots(groups, self._columns.size)
        dots = np.empty(self._columns.size + 1, np.float32)
        dots[found] = self._columns.dots(found, vector)
        dots[-1] = 0
        return [dots.take(slots) for slots in groups]
