"""Search index of one owner and one embedding model.

``OwnerSearchIndex.pool`` is the way in for searches. It finds the view that a query may see, scores
words and meaning there, and makes a pool of candidates of either everything or the best by source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from engrams.core import Kind, Status
from engrams.index.bm25 import Bm25Scores, QueryWords, find_holding, score_terms
from engrams.index.candidate_view import (
    WINDOW,
    CandidateColumns,
    MaskChange,
    VisibleIndexView,
    change_gathered,
    change_view,
    extend_view,
    gather,
    make_view,
)
from engrams.index.columns import DamagedIndexError, IndexColumns
from engrams.index.row_applier import STATUS_CODES, IndexRowApplier
from engrams.index.segment_file import SegmentContent
from engrams.index.slots import NO_SLOTS, Flags, Floats, Slots, join_slots, top_slots, unique_sorted
from engrams.index.state import OwnerIndexState
from engrams.ports import CandidatePool, CandidateSearchQuery, ScopeReach

_VIEWS = 8
_TOUCHED = 10_000
"""Changes of slots that are remembered to bring views up to date."""
_STORING_SECONDS = 60.0
"""A passage that is younger than this when it is stored has no date of its own."""
_ALL = slice(None)
_VOICE_SEPARATOR = "\x1f"

_PASSED = (
    "embedded",
    "times",
    "voice",
    "words",
    "question",
    "dated",
    "importance",
    "confidence",
)
"""Columns of candidates that are columns of a pool under the same name."""

_Rows: TypeAlias = "slice | Slots"
_ViewKey: TypeAlias = tuple[ScopeReach, tuple[Kind, ...], bool]
"""Scopes, kinds, and whether history is visible."""


class _CachedView(NamedTuple):
    """View, with what of the index it knows."""

    view: VisibleIndexView
    since: float
    """Seconds since 1970 of its query."""
    touched: int
    """Number of changes of slots that it knows."""
    relinked: int
    """Number of changes of neighbours that it knows."""


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
        self._views: dict[_ViewKey, _CachedView] = {}

    @classmethod
    def from_segment(cls, segment: SegmentContent) -> OwnerSearchIndex:
        """Rebuild the index from a segment that ``dump`` made.

        SegmentFileError: it cannot be searched on this machine.
        """
        state = OwnerIndexState.from_segment(segment)
        return cls(state.columns.dimension, state)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._columns["alive"]))

    def pool(
        self,
        query: CandidateSearchQuery,
        words: QueryWords,
        allowed_rows: Slots | None,
        exact_limit: int,
    ) -> CandidatePool:
        """Find candidates: everything in reach up to ``exact_limit``, else the best by source.

        ``words``: those of the query, as the index numbers them; ``allowed_rows``: row numbers that
        its filter allows, None without one. IndexError: the index is damaged.
        """
        view = self._get_view(query, allowed_rows)
        is_exact = view.total <= exact_limit
        vector = None if is_exact else query.vector
        with self._start_finding(vector, view, query.width) as find_nearest:
            bm25 = score_terms(self._columns, self.state.postings, view, words)
            if not query.alone:
                bm25 = bm25.count_sessions(self._columns, view)
            identified = find_holding(self._columns, self.state.postings, view, words.identifiers)
            if is_exact:
                candidates = view.gather_all(self._columns)
            else:
                best = [top_slots(bm25.scores, query.width), identified[-query.width :]]
                slots = self._add_followers(view, [*best, find_nearest()])
                candidates = gather(self._columns, slots)
        return self._build_pool(query, candidates, bm25, view, identified, is_exact=is_exact)

    def _start_finding(
        self, vector: Floats | None, view: VisibleIndexView, width: int
    ) -> AbstractContextManager[Callable[[], Slots]]:
        """Find the nearest slots in a thread, beside the words."""
        if vector is None or not self._columns.dimension:
            return nullcontext(lambda: NO_SLOTS)
        return self.state.nearest.start_finding(self._columns, vector, view.mask, width)

    # ----------------------------------------------------------------------------------------------
    # views

    def _get_view(
        self, query: CandidateSearchQuery, allowed_rows: Slots | None
    ) -> VisibleIndexView:
        """Cached or changed view, unless something in it expired."""
        now = query.now.timestamp()
        sessions = len(self.state.last_slots)
        if len(self.updates.touched) > _TOUCHED:
            self._views.clear()
            self.updates.touched.clear()
        if allowed_rows is not None or query.as_of is not None:
            return make_view(self._columns, self._build_mask(query, allowed_rows), sessions, now)
        key = (query.reach, query.kinds, query.history)
        cached = self._views.pop(key, None)
        if cached is not None and cached.since <= now < cached.view.until:
            view = self._refresh_view(query, cached, now)
        else:
            view = make_view(self._columns, self._build_mask(query, None), sessions, now)
        while len(self._views) >= _VIEWS:
            del self._views[next(iter(self._views))]
        self._views[key] = _CachedView(view, now, len(self.updates.touched), self.updates.relinked)
        return view

    def _refresh_view(
        self, query: CandidateSearchQuery, cached: _CachedView, now: float
    ) -> VisibleIndexView:
        """Bring a view up to date, at the cost of what changed."""
        view = cached.view
        columns = self._columns
        sessions = len(self.state.last_slots)
        size = len(view.mask)
        touched = self.updates.touched[cached.touched :]
        if size == columns.size and not touched:
            return view
        new_mask = self._build_mask(query, None, slice(size, None))
        if not touched:
            return extend_view(columns, view, new_mask, sessions, now)
        changed = unique_sorted(np.array(touched, np.int64))
        changed = changed[changed < size]
        mask = np.concatenate([view.mask, new_mask])
        mask[changed] = self._build_mask(query, None, changed)
        appeared = changed[mask[changed] & ~view.mask[changed]]
        removed = changed[view.mask[changed] & ~mask[changed]]
        new = size + np.flatnonzero(new_mask)
        change = MaskChange(mask, np.concatenate([appeared, new]), removed)
        refreshed = change_view(columns, view, change, sessions, now)
        if not len(appeared) and cached.relinked == self.updates.relinked:
            refreshed.gathered.extend(
                change_gathered(columns, gathered, removed, changed[mask[changed]], new)
                for gathered in view.gathered
            )
        return refreshed

    def _build_mask(
        self, query: CandidateSearchQuery, allowed_rows: Slots | None, rows: _Rows = _ALL
    ) -> Flags:
        """Mask the slots that a query may see: all of them, or those of ``rows``."""
        columns = self._columns
        mask = self._build_time_mask(query, rows)
        mask &= columns["alive"][rows]
        keys = [*map(attrgetter("key"), query.reach.scopes)]
        prefixes = tuple(f"{key}/" for key in keys) if query.reach.tree else ()
        in_reach = np.array(
            [scope in keys or scope.startswith(prefixes) for scope in self.state.scopes.names],
            np.bool_,
        )
        if not in_reach.all():
            mask &= in_reach[columns["scope"][rows]]
        if query.kinds:
            codes = [self.state.kinds.find(kind) for kind in query.kinds]
            mask &= np.isin(columns["kind"][rows], [code for code in codes if code >= 0])
        if allowed_rows is not None:
            mask &= np.isin(columns["rowid"][rows], allowed_rows)
        return mask

    def _build_time_mask(self, query: CandidateSearchQuery, rows: _Rows) -> Flags:
        """Mask what was valid and known at the time asked for, is now, or ever was."""
        columns = self._columns
        now = query.now.timestamp()
        if query.as_of is not None:
            valid_at = query.as_of.valid.timestamp() if query.as_of.valid else now
            known_at = query.as_of.known.timestamp() if query.as_of.known else now
            is_known = (columns["recorded"][rows] <= known_at) & (
                known_at < columns["retired"][rows]
            )
            has_begun = columns["valid_from"][rows] <= valid_at
            # An end counts from the time on at which it was known.
            has_not_ended = (valid_at < columns["valid_to"][rows]) | (
                known_at < columns["ended"][rows]
            )
            mask: Flags = is_known & has_begun & has_not_ended
            return mask
        if query.history:
            return np.ones(len(columns["alive"][rows]), np.bool_)
        is_active = columns["status"][rows] == STATUS_CODES[Status.ACTIVE]
        is_valid: Flags = is_active & (now < columns["valid_to"][rows])
        return is_valid

    # ----------------------------------------------------------------------------------------------
    # candidates

    def _add_followers(self, view: VisibleIndexView, groups: Sequence[Slots]) -> Slots:
        """Join groups of slots, with the two turns after each; only those in view.

        Windowed scores reach these.
        """
        groups = [*groups]
        front = np.concatenate(groups)
        after = self._columns["after"]
        for _ in range(2):
            front = after[front].astype(np.int64)
            front = front[front >= 0]
            groups.append(front)
        joined = join_slots(groups, self._columns.size)
        visible: Slots = joined[view.mask[joined]]
        return visible

    def _build_pool(
        self,
        query: CandidateSearchQuery,
        candidates: CandidateColumns,
        bm25: Bm25Scores,
        view: VisibleIndexView,
        identified: Slots,
        *,
        is_exact: bool,
    ) -> CandidatePool:
        voices = [_split_voice(name) for name in self.state.voices.names]
        if candidates.voice.max(initial=-1) >= len(voices):
            raise DamagedIndexError("a voice has no name")
        count = len(candidates.slots)
        zeros = np.zeros(count, np.float32)
        cos, cosctx, cosnext = self._cosines(query, candidates)
        is_identified = np.zeros(count, np.bool_)
        if len(identified):
            is_identified = np.isin(candidates.slots, identified)
        is_passage, is_undated = self._find_passages(candidates)
        size = self._columns.size
        return CandidatePool(
            ids=candidates.ids,
            cos=cos,
            cosctx=cosctx,
            cosnext=cosnext,
            bm=bm25.scores[candidates.slots],
            bmctx=zeros if query.alone else bm25.score_windows(size, candidates),
            bmses=zeros if query.alone else bm25.score_sessions(view, candidates),
            voices=voices,
            identified=is_identified,
            passage=is_passage,
            undated=is_undated,
            **{name: getattr(candidates, name) for name in _PASSED},
            total=view.total,
            exact=is_exact,
            largest_bm=bm25.max_score,
            has_triggers=self.state.has_triggers,
        )

    def _find_passages(self, candidates: CandidateColumns) -> tuple[Flags, Flags]:
        """Find passages of documents, and those whose time is the moment at which they were stored."""
        passages = self.state.kinds.find(Kind.PASSAGE)
        if passages < 0:
            none = np.zeros(len(candidates.slots), np.bool_)
            return none, none
        is_passage: Flags = self._columns["kind"].take(candidates.slots) == passages
        stored_at = self._columns["recorded"].take(candidates.slots)
        return is_passage, is_passage & (candidates.times >= stored_at - _STORING_SECONDS)

    def _cosines(
        self, query: CandidateSearchQuery, candidates: CandidateColumns
    ) -> tuple[Floats, Floats, Floats]:
        """Cosines [candidates] of the query to a record, to its window, to the turn after it."""
        columns = self._columns
        slots = candidates.slots
        zeros = np.zeros(len(slots), np.float32)
        if query.vector is None or not columns.dimension or not len(slots):
            return zeros, zeros, zeros
        groups = (slots, candidates.before, candidates.before2, candidates.after)
        if len(slots) * 3 > columns.size and not columns.is_quantized:
            dots = np.zeros(columns.size + 1, np.float32)
            # Not a matrix product: BLAS would split it among threads that wait for each other on a
            # busy machine.
            np.vecdot(columns.vectors, query.vector, out=dots[:-1])
            dot, before, before2, after = (dots[group] for group in groups)
        else:
            dot, before, before2, after = self._dot_groups(query.vector, groups)
        if query.alone:
            return dot, zeros, zeros
        window = WINDOW[0] * dot + WINDOW[1] * before + WINDOW[2] * before2
        return dot, (window / candidates.norm).astype(np.float32), after

    def _dot_groups(self, vector: Floats, groups: Sequence[Slots]) -> list[Floats]:
        """Dot products of groups of slots with a vector; each slot is read once.

        Slot -1 gives 0.
        """
        slots = join_slots(groups, self._columns.size)
        dots = np.empty(self._columns.size + 1, np.float32)
        dots[slots] = self._columns.dots(slots, vector)
        dots[-1] = 0
        return [dots.take(group) for group in groups]


def _split_voice(name: str) -> tuple[str, str]:
    """Speaker and role of a voice."""
    speaker, _, role = name.partition(_VOICE_SEPARATOR)
    return speaker, role
