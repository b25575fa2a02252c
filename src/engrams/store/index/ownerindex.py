"""Search index of one owner and one embedding model."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from engrams.ports import CandidatePool, CandidateQuery, ScopeReach
from engrams.store.index.ann import AnnIndex, count_proposals, top_slots, unique_sorted
from engrams.store.index.candidateview import WINDOW, CandidateColumns, IndexView, extend_view, gather, make_view
from engrams.store.index.columns import IndexColumns, IndexRow, RowSlots, StringCodes, find_sound
from engrams.store.index.lexical import InvertedIndex, LexicalScores, score_terms
from engrams.types import Kind, Status

_MIN_CODED = 50_000
"""Slots above which vectors are searched by codes; below, an exact scan is as fast."""

_CHUNK = 2_000
"""Vectors processed at once: few enough to stay in the processor's cache."""

_VIEWS = 8
_ALL = slice(None)
_Floats: TypeAlias = npt.NDArray[np.float32]
_STATUSES = tuple(Status)
_STATUS_CODES: Mapping[str, int] = {status: code for code, status in enumerate(_STATUSES)}
_RETRIEVABLE = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN = {Kind.TURN, Kind.EXCHANGE}
_PASSED = ("embedded", "times", "sessions", "place", "voice", "words", "question", "dated", "importance", "confidence")


class OwnerIndex:
    """Columns, vectors and postings of one owner's records.

    Not thread safe: the caller holds a lock. ``last_change``: number of the last change seen; ``purged_count``: purged rows seen;
    ``damaged``: numbers of rows whose vector no embedder made, and was left out."""

    def __init__(self, dimension: int) -> None:
        self.last_change = self.purged_count = 0
        self.damaged: list[int] = []
        self._columns = IndexColumns(dimension)
        self._postings = InvertedIndex()
        self._row_slots = RowSlots()
        self._scopes, self._kinds, self._voices = StringCodes(), StringCodes(), StringCodes()
        self._sessions: dict[tuple[int, str], int] = {}
        self._last = array("i")
        self._ann: AnnIndex | None = None
        self._views: dict[tuple[ScopeReach, tuple[Kind, ...], bool], tuple[float, IndexView]] = {}

    @property
    def bytes(self) -> int:
        """Approximate resident size."""
        return self._columns.bytes + self._postings.size + self._row_slots.bytes

    def holds(self, term: int) -> bool:
        """True for a term that records hold, or held since the load."""
        return self._postings.holds(term)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._columns["alive"]))

    # ------------------------------------------------------------------------------------------------------ filling

    def load(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert new retrievable rows in their original order."""
        self._insert(rows, frozenset())

    def apply(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert, update or remove rows by status, in order of ``changed``."""
        fresh: list[IndexRow] = []
        gone: list[int] = []
        changed = False
        for row in map(IndexRow._make, rows):
            self.last_change = max(self.last_change, row.changed)
            slot = self._row_slots.get(row.rowid)
            self.purged_count += row.status == Status.PURGED
            if row.status not in _RETRIEVABLE:
                if slot is not None:
                    gone.append(slot)
                    self._row_slots.drop(row.rowid)
            elif slot is None or self._columns["hash"][slot] != hash((row.lexemes, row.vector, row.scope, row.speaker)):
                fresh.append(row)
            else:
                self._update_state(slot, row)
                changed = True
        if gone:
            self._remove(np.array(gone))
        known = frozenset(row.rowid for row in fresh if row.rowid in self._row_slots)
        # Views survive pure additions, which most writes are: they are extended on the next read.
        if changed or gone or known:
            self._views.clear()
        if fresh:
            # A row comes twice in one batch only as two changes of one record: the last one counts.
            self._insert(list({row.rowid: row for row in fresh}.values()), known)

    def _insert(self, rows: Sequence[tuple[Any, ...]], known: Set[int]) -> None:
        """Append rows; those in ``known`` (row numbers) replace their old slots."""
        columns = self._columns
        first = columns.extend(len(rows))
        # One tuple of values for each field.
        by: Any = IndexRow._make(zip(*rows, strict=True))
        self.last_change = max(self.last_change, *by.changed)
        self._postings.add(first, by.lexemes)
        columns["rowid"][first:] = by.rowid
        columns["alive"][first:] = True
        columns["scope"][first:] = self._scopes.encode_all(by.scope)
        columns["voice"][first:] = self._voices.encode_all(map("\x1f".join, zip(by.speaker, by.role, strict=True)))
        columns["kind"][first:] = self._kinds.encode_all(by.kind)
        columns["said"][first:] = np.array(by.said, np.float64) / 1e6
        columns["words"][first:] = by.words
        columns["length"][first:] = np.fromiter(map(len, by.lexemes), np.int64, len(rows)) // 4
        columns["question"][first:] = by.question
        columns["dated"][first:] = by.dated
        columns["hash"][first:] = [*map(hash, zip(by.lexemes, by.vector, by.scope, by.speaker, strict=True))]
        columns["status"][first:] = [_STATUS_CODES[status] for status in by.status]
        columns["valid_from"][first:] = _to_seconds(by.valid_from, -math.inf)
        columns["valid_to"][first:] = _to_seconds(by.valid_to, math.inf)
        columns["recorded"][first:] = _to_seconds(by.recorded_at, -math.inf)
        columns["retired"][first:] = _to_seconds(by.retired_at, math.inf)
        columns["ended"][first:] = _to_seconds(by.ended_at, -math.inf)
        columns["importance"][first:] = by.importance
        columns["confidence"][first:] = by.confidence
        self._link_sessions(first, by, known)
        self._add_vectors(first, by.vector)
        self._set_norms(np.arange(first, columns.size if columns.dimension else first))
        columns["id"][first:] = by.id
        if known:
            for slot, number in enumerate(by.rowid, first):
                old = self._row_slots.get(number) if number in known else None
                if old is not None:
                    self._replace(old, slot)
        self._row_slots.extend(by.rowid, first)

    def _update_state(self, slot: int, row: IndexRow) -> None:
        columns = self._columns
        columns["status"][slot] = _STATUS_CODES[row.status]
        for name, micros, missing in (
            ("valid_from", row.valid_from, -math.inf),
            ("valid_to", row.valid_to, math.inf),
            ("retired", row.retired_at, math.inf),
            ("ended", row.ended_at, -math.inf),
        ):
            columns[name][slot] = missing if micros is None else micros / 1e6
        columns["importance"][slot] = row.importance
        columns["confidence"][slot] = row.confidence

    def _link_sessions(self, first: int, by: Any, known: Set[int]) -> None:
        """Append spoken rows to their sessions; other rows stand alone."""
        columns, lasts, scopes = self._columns, self._last, self._columns["scope"][first:].tolist()
        # Lists in the loop: setting single elements of a numpy column takes five times as long.
        before, before2, place, session = ([number] * len(scopes) for number in (-1, -1, 0, 0))
        for at, (rowid, name, kind) in enumerate(zip(by.rowid, by.session, by.kind, strict=True)):
            if rowid in known:
                continue  # it takes the place that it had
            code = len(lasts)
            if name and kind in _SPOKEN:
                code = self._sessions.setdefault((scopes[at], name), code)
            if code == len(lasts):
                lasts.append(-1)
            last = lasts[code]
            if last >= first:
                before[at], before2[at], place[at] = last, before[last - first], place[last - first] + 1
            elif last >= 0:
                before[at], before2[at], place[at] = last, int(columns["before"][last]), int(columns["place"][last]) + 1
            lasts[code], session[at] = first + at, code
        for name, values in (("before", before), ("before2", before2), ("place", place), ("session", session), ("after", -1)):
            columns[name][first:] = values
        follows = first + np.flatnonzero(columns["before"][first:] >= 0)
        columns["after"][columns["before"][follows]] = follows

    def _add_vectors(self, first: int, blobs: Sequence[Any]) -> None:
        columns = self._columns
        width = columns.dimension * 4
        if not width:
            return
        some = [number for number, blob in enumerate(blobs) if blob is not None]
        have = np.array([number for number in some if len(blobs[number]) == width], np.int64)
        data = np.frombuffer(b"".join([blobs[number] for number in have]), np.float32).reshape(len(have), columns.dimension)
        sound = find_sound(data)
        if not sound.all() or len(have) < len(some):
            have, data = have[sound], data[sound]
            self.damaged.extend(columns["rowid"][first + np.setdiff1d(some, have)].tolist())
        if len(have):
            # A slice if possible: copying row by row takes four times as long.
            places = slice(first, first + len(blobs)) if len(have) == len(blobs) else have + first
            columns.set_vectors(places, data)
            columns["embedded"][places] = True
        if self._ann is not None:
            self._ann.add(columns.get_vectors(slice(first, columns.size)))
        elif columns.size > _MIN_CODED:
            self._ann = AnnIndex.build(columns.vectors)
            if self._ann is not None:
                columns.quantize()

    def _set_norms(self, slots: npt.NDArray[np.int64]) -> None:
        columns = self._columns
        for start in range(0, len(slots), _CHUNK):
            some = slots[start : start + _CHUNK]
            before, before2 = columns["before"][some], columns["before2"][some]
            vectors, weights = [columns.get_vectors(some)], [np.full(len(some), WINDOW[0], np.float32)]
            for weight, other in ((WINDOW[1], before), (WINDOW[2], before2)):
                vectors.append(columns.get_vectors(other))
                weights.append(np.where(other >= 0, np.float32(weight), np.float32(0)))
            # |a + b + c|² by its products: summing the vectors themselves takes three times as long.
            square = np.zeros(len(some), np.float32)
            for one in range(3):
                square += weights[one] * weights[one] * np.vecdot(vectors[one], vectors[one])
                for two in range(one):
                    square += 2 * weights[one] * weights[two] * np.vecdot(vectors[one], vectors[two])
            columns["norm"][some] = np.sqrt(np.maximum(square, 0))

    def _remove(self, gone: npt.NDArray[np.int64]) -> None:
        """Stop scoring removed records, in windows of later turns too."""
        columns = self._columns
        columns["alive"][gone] = False
        if columns.dimension:
            columns.set_vectors(gone, np.zeros((len(gone), columns.dimension), np.float32))
            self._set_norms(np.flatnonzero(np.isin(columns["before"], gone) | np.isin(columns["before2"], gone)))

    def _replace(self, old: int, new: int) -> None:
        """Move a changed record's place in its session to the new slot."""
        columns = self._columns
        columns["alive"][old] = False
        for name in ("before", "before2", "after", "session", "place"):
            columns[name][new] = columns[name][old]
        columns["after"][columns["after"] == old] = new
        touched = [np.array([new])]
        for name in ("before", "before2"):
            followers = np.flatnonzero(columns[name] == old)
            columns[name][followers] = new
            touched.append(followers)
        code = int(columns["session"][old])
        if self._last[code] == old:
            self._last[code] = new
        if columns.dimension:
            self._set_norms(np.concatenate(touched))

    # ------------------------------------------------------------------------------------------------------ reading

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        """Speakers in the reach, with counts."""
        counts = np.bincount(self._columns["voice"][self._columns["alive"] & self._mask_reach(reach)], minlength=len(self._voices.names))
        found: dict[str, int] = {}
        for code, name in enumerate(self._voices.names):
            speaker, _ = self._split_voice(name)
            if speaker and counts[code]:
                found[speaker] = found.get(speaker, 0) + int(counts[code])
        return found

    @staticmethod
    def _split_voice(name: str) -> tuple[str, str]:
        speaker, _, role = name.partition("\x1f")
        return speaker, role

    def pool(
        self,
        seek: CandidateQuery,
        terms: Sequence[tuple[int, float]],
        unknown: float,
        allowed: npt.NDArray[np.int64] | None,
        exact_limit: int,
    ) -> CandidatePool:
        """Candidates: everything in reach up to ``exact_limit``, else the best by source.

        ``terms``: ids and weights; ``unknown``: summed weight of query words that no record holds; ``allowed``: row numbers."""
        seen = self._get_view(seek, allowed)
        words = score_terms(self._columns, self._postings, seen, terms, unknown)
        exact = seen.total <= exact_limit
        some = seen.gather_all(self._columns) if exact else gather(self._columns, self._best_slots(seek, seen, words))
        return self._build_pool(seek, some, words, seen.total, exact)

    def _get_view(self, seek: CandidateQuery, allowed: npt.NDArray[np.int64] | None) -> IndexView:
        """Cached or extended view, unless something in it changed or expired."""
        now = seek.now.timestamp()
        key = (seek.reach, seek.kinds, seek.history)
        kept = self._views.get(key) if allowed is None and seek.as_of is None else None
        if kept is not None and kept[0] <= now < kept[1].until:
            seen = kept[1]
            if len(seen.mask) == self._columns.size:
                return seen
            seen = extend_view(self._columns, seen, self._build_mask(seek, None, len(seen.mask)), len(self._last), now)
        else:
            seen = make_view(self._columns, self._build_mask(seek, allowed), len(self._last), now)
        if allowed is None and seek.as_of is None:
            self._views.pop(key, None)
            while len(self._views) >= _VIEWS:
                del self._views[next(iter(self._views))]
            self._views[key] = (now, seen)
        return seen

    def _build_mask(self, seek: CandidateQuery, allowed: npt.NDArray[np.int64] | None, start: int = 0) -> npt.NDArray[np.bool_]:
        some = slice(start, None)
        columns, moment = self._columns, seek.now.timestamp()
        if seek.as_of is not None:
            valid = seek.as_of.valid.timestamp() if seek.as_of.valid else moment
            known = seek.as_of.known.timestamp() if seek.as_of.known else moment
            mask = (columns["recorded"][some] <= known) & (known < columns["retired"][some])
            mask &= columns["valid_from"][some] <= valid
            mask &= (valid < columns["valid_to"][some]) | (known < columns["ended"][some])
        elif seek.history:
            mask = np.ones(columns.size - start, np.bool_)
        else:
            mask = (columns["status"][some] == _STATUS_CODES[Status.ACTIVE]) & (moment < columns["valid_to"][some])
        mask &= columns["alive"][some]
        mask &= self._mask_reach(seek.reach, some)
        if seek.kinds:
            codes = [code for kind in seek.kinds if (code := self._kinds.find(kind)) >= 0]
            mask &= np.isin(columns["kind"][some], codes)
        if allowed is not None:
            mask &= np.isin(columns["rowid"][some], allowed)
        return mask

    def _mask_reach(self, reach: ScopeReach, some: slice = _ALL) -> npt.NDArray[np.bool_]:
        keys = [*map(attrgetter("key"), reach.scopes)]
        inside = np.array(
            [name in keys or (reach.tree and any(name.startswith(key + "/") for key in keys)) for name in self._scopes.names], np.bool_
        )
        scopes = self._columns["scope"][some]
        if inside.all():
            return np.ones(len(scopes), np.bool_)
        result: npt.NDArray[np.bool_] = inside[scopes]
        return result

    def _best_slots(self, seek: CandidateQuery, seen: IndexView, words: LexicalScores) -> npt.NDArray[np.int64]:
        """Best slots by source, with the two turns after each."""
        after = self._columns["after"]
        chosen = [top_slots(words.bm, seek.width)]
        if seek.vector is not None and self._columns.dimension:
            chosen.append(self._nearest_slots(seek.vector, seen.mask, seek.width))
        front = np.concatenate(chosen)
        # Windowed scores reach the next two turns.
        for _ in range(2):
            front = after[front].astype(np.int64)
            front = front[front >= 0]
            chosen.append(front)
        found = unique_sorted(np.concatenate(chosen))
        kept: npt.NDArray[np.int64] = found[seen.mask[found]]
        return kept

    def _nearest_slots(self, vector: _Floats, mask: npt.NDArray[np.bool_], width: int) -> npt.NDArray[np.int64]:
        """Nearest slots in ``mask``: exact, or by codes and rescored."""
        columns = self._columns
        if self._ann is None:
            slots = np.flatnonzero(mask)
            return slots[top_slots(columns.dots(slots, vector), width)]
        found = self._ann.search(vector, count_proposals(width, columns.size), mask)
        return found[top_slots(columns.dots(found, vector), width)]

    def _build_pool(self, seek: CandidateQuery, some: CandidateColumns, words: LexicalScores, total: int, exact: bool) -> CandidatePool:
        cos, cosctx, cosnext = self._cosines(seek, some)
        return CandidatePool(
            ids=some.ids,
            cos=cos,
            cosctx=cosctx,
            cosnext=cosnext,
            bm=words.bm[some.slots],
            bmctx=words.score_windows(self._columns.size, some),
            bmses=words.session[some.sessions] if len(words.session) else np.zeros(len(some.slots), np.float32),
            voices=[self._split_voice(name) for name in self._voices.names],
            **{name: getattr(some, name) for name in _PASSED},
            total=total,
            exact=exact,
            kinds=frozenset(self._kinds.names),
        )

    def _cosines(self, seek: CandidateQuery, some: CandidateColumns) -> tuple[_Floats, _Floats, _Floats]:
        columns, slots = self._columns, some.slots
        if seek.vector is None or not columns.dimension or not len(slots):
            return np.zeros(len(slots), np.float32), np.zeros(len(slots), np.float32), np.zeros(len(slots), np.float32)
        if len(slots) * 3 > columns.size and self._ann is None:
            dots = np.zeros(columns.size + 1, np.float32)
            # Not a matrix product: BLAS would split it among threads that wait for each other on a busy machine.
            np.vecdot(columns.vectors, seek.vector, out=dots[:-1])
        else:
            dots = np.zeros(columns.size + 1, np.float32)
            needed = unique_sorted(np.concatenate([slots, some.before, some.before2, some.after]))
            needed = needed[needed >= 0]
            dots[needed] = columns.dots(needed, seek.vector)
        plain = dots[slots]
        window = WINDOW[0] * plain + WINDOW[1] * dots[some.before] + WINDOW[2] * dots[some.before2]
        return plain, (window / some.norm).astype(np.float32), dots[some.after]


def _to_seconds(micros: Sequence[Any], missing: float) -> npt.NDArray[np.float64]:
    values = np.array(micros, np.float64)
    return np.where(np.isnan(values), missing, values / 1e6)
