"""The index of one owner and one embedding model."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from engrams.ports import Pool, Reach, Seek
from engrams.store.index.ann import Near, proposed
from engrams.store.index.columns import Codes, Columns
from engrams.store.index.gather import WINDOW, Told, told
from engrams.store.index.lexical import Lexical, lexical
from engrams.store.index.postings import Postings
from engrams.store.index.row import Row
from engrams.store.index.rowmap import Places
from engrams.store.index.topk import distinct, highest
from engrams.store.index.view import View, grown, view
from engrams.types import Kind, Status

_CODED = 50_000
"""Slots from which vectors are searched by codes: below, an exact scan is as fast."""

_CHUNK = 2_000
"""Rows of vectors worked on at once: few enough to stay in the processor's cache."""

_VIEWS = 8
_ALL = slice(None)
_Floats: TypeAlias = npt.NDArray[np.float32]
_STATUSES = tuple(Status)
_CODE: Mapping[str, int] = {status: code for code, status in enumerate(_STATUSES)}
_KEPT = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN = {Kind.TURN, Kind.EXCHANGE}


class OwnerIndex:
    """Columns, vectors and postings of one owner's records. Not thread safe: its user holds a lock."""

    def __init__(self, dimension: int) -> None:
        self.high = self.purged = 0
        self._columns = Columns(dimension)
        self._postings = Postings()
        self._places = Places()
        self._scopes, self._kinds, self._voices = Codes(), Codes(), Codes()
        self._sessions: dict[tuple[int, str], int] = {}
        self._last = array("i")
        self._near: Near | None = None
        self._views: dict[tuple[Reach, tuple[Kind, ...], bool], tuple[float, View]] = {}

    @property
    def bytes(self) -> int:
        """Resident size, about."""
        return self._columns.bytes + self._postings.size + self._places.bytes

    def __len__(self) -> int:
        return int(np.count_nonzero(self._columns["alive"]))

    # ------------------------------------------------------------------------------------------------------ filling

    def load(self, rows: Sequence[Row]) -> None:
        """Insert rows of which it has none yet, all of them retrievable, in the order in which they came."""
        self.high = max(self.high, *(row[1] for row in rows))
        self._insert(rows, frozenset())

    def apply(self, rows: Iterable[Row]) -> None:
        """Insert or update rows, in order of ``changed``; one whose status is not retrievable is removed."""
        fresh: list[Row] = []
        gone: list[int] = []
        changed = False
        for row in rows:
            self.high = max(self.high, row[1])
            slot = self._places.get(row[0])
            self.purged += row[6] == Status.PURGED
            if row[6] not in _KEPT:
                if slot is not None:
                    gone.append(slot)
                    self._places.drop(row[0])
            elif slot is None or self._columns["print"][slot] != _print(row):
                fresh.append(row)
            else:
                self._state(slot, row)
                changed = True
        if gone:
            self._remove(np.array(gone))
        known = frozenset(row[0] for row in fresh if row[0] in self._places)
        # What is only added to what there was is added to what was gathered of it: turn upon turn, most writes are of that sort.
        if changed or gone or known:
            self._views.clear()
        if fresh:
            # A row can come twice in one batch only as two changes of one record: the last one counts.
            self._insert(list({row[0]: row for row in fresh}.values()), known)

    def _insert(self, rows: Sequence[Row], known: Set[int]) -> None:
        """``known``: numbers of those that have a slot already, which they leave."""
        columns = self._columns
        first = columns.extend(len(rows))
        by = list(zip(*rows, strict=True))
        self._postings.add(first, by[19])
        columns["rowid"][first:] = by[0]
        columns["alive"][first:] = True
        columns["scope"][first:] = self._scopes.codes(by[3])
        columns["voice"][first:] = self._voices.codes(map("\x1f".join, zip(by[7], by[21], strict=True)))
        columns["kind"][first:] = self._kinds.codes(by[5])
        columns["said"][first:] = np.array(by[8], np.float64) / 1e6
        columns["words"][first:] = by[14]
        columns["length"][first:] = np.fromiter(map(len, by[19]), np.int64, len(rows)) // 4
        columns["question"][first:] = by[15]
        columns["dated"][first:] = by[16]
        columns["print"][first:] = [_print(row) for row in rows]
        self._states(first, by)
        self._order(first, rows, known)
        self._embed(first, by[20])
        columns["id"][first:] = by[2]
        if known:
            for slot, number in enumerate(by[0], first):
                old = self._places.get(number) if number in known else None
                if old is not None:
                    self._replace(old, slot)
        self._places.extend(by[0], first)

    def _states(self, first: int, by: Sequence[Sequence[Any]]) -> None:
        """``by``: the rows, column by column."""
        columns = self._columns
        columns["status"][first:] = [_CODE[status] for status in by[6]]
        columns["valid_from"][first:] = _times(by[9], -math.inf)
        columns["valid_to"][first:] = _times(by[10], math.inf)
        columns["recorded"][first:] = _times(by[11], -math.inf)
        columns["retired"][first:] = _times(by[12], math.inf)
        columns["ended"][first:] = _times(by[13], -math.inf)
        columns["importance"][first:] = by[17]
        columns["confidence"][first:] = by[18]

    def _state(self, slot: int, row: Row) -> None:
        columns = self._columns
        columns["status"][slot] = _CODE[row[6]]
        columns["valid_from"][slot] = _seconds(row[9], -math.inf)
        columns["valid_to"][slot] = _seconds(row[10], math.inf)
        columns["retired"][slot] = _seconds(row[12], math.inf)
        columns["ended"][slot] = _seconds(row[13], -math.inf)
        columns["importance"][slot] = row[17]
        columns["confidence"][slot] = row[18]

    def _order(self, first: int, rows: Sequence[Row], known: Set[int]) -> None:
        """Place each spoken row behind the last one of its session; anything else stands alone."""
        columns, lasts, scopes = self._columns, self._last, self._columns["scope"][first:].tolist()
        # Lists while it goes row by row: a number put into a column by itself takes five times as long.
        before, before2, place, session = ([number] * len(rows) for number in (-1, -1, 0, 0))
        for at, row in enumerate(rows):
            if row[0] in known:
                continue  # it takes the place that it had
            code = len(lasts)
            if row[4] and row[5] in _SPOKEN:
                code = self._sessions.setdefault((scopes[at], row[4]), code)
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

    def _embed(self, first: int, blobs: Sequence[Any]) -> None:
        columns = self._columns
        width = columns.dimension * 4
        if not width:
            return
        have = [number for number, blob in enumerate(blobs) if blob is not None and len(blob) == width]
        if have:
            data = np.frombuffer(b"".join([blobs[number] or b"" for number in have]), np.float32)
            # A slice where it can be one: copying row by row takes four times as long.
            places = slice(first, first + len(blobs)) if len(have) == len(blobs) else np.array(have) + first
            columns.put(places, data.reshape(len(have), columns.dimension))
            columns["embedded"][places] = True
        if self._near is not None:
            self._near.add(columns.rows(slice(first, columns.size)))
        elif columns.size > _CODED:
            self._near = Near.over(columns.vectors)
            if self._near is not None:
                columns.shrink()
        self._norms(np.arange(first, columns.size))

    def _norms(self, slots: npt.NDArray[np.int64]) -> None:
        """Lengths of the windowed vectors, so that a windowed cosine needs only the three plain ones."""
        columns = self._columns
        for start in range(0, len(slots), _CHUNK):
            some = slots[start : start + _CHUNK]
            before, before2 = columns["before"][some], columns["before2"][some]
            vectors, weights = [columns.rows(some)], [np.full(len(some), WINDOW[0], np.float32)]
            for weight, other in ((WINDOW[1], before), (WINDOW[2], before2)):
                vectors.append(columns.rows(other))
                weights.append(np.where(other >= 0, np.float32(weight), np.float32(0)))
            # |a + b + c|² by its products: a sum of the vectors themselves takes three times as long.
            square = np.zeros(len(some), np.float32)
            for one in range(3):
                square += weights[one] * weights[one] * np.vecdot(vectors[one], vectors[one])
                for two in range(one):
                    square += 2 * weights[one] * weights[two] * np.vecdot(vectors[one], vectors[two])
            columns["norm"][some] = np.sqrt(np.maximum(square, 0))

    def _remove(self, gone: npt.NDArray[np.int64]) -> None:
        """Removed records are not scored, and no longer lend their meaning to the turns after them."""
        columns = self._columns
        columns["alive"][gone] = False
        if columns.dimension:
            columns.put(gone, np.zeros((len(gone), columns.dimension), np.float32))
            self._norms(np.flatnonzero(np.isin(columns["before"], gone) | np.isin(columns["before2"], gone)))

    def _replace(self, old: int, new: int) -> None:
        """A record's text or vector changed: its new slot takes the old one's place in the session."""
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
            self._norms(np.concatenate(touched))

    # ------------------------------------------------------------------------------------------------------ reading

    def speakers(self, reach: Reach) -> Mapping[str, int]:
        """Who spoke in the reach, with counts."""
        counts = np.bincount(self._columns["voice"][self._columns["alive"] & self._reach(reach)], minlength=len(self._voices.names))
        found: dict[str, int] = {}
        for code, name in enumerate(self._voices.names):
            speaker, _ = self._voice(name)
            if speaker and counts[code]:
                found[speaker] = found.get(speaker, 0) + int(counts[code])
        return found

    @staticmethod
    def _voice(name: str) -> tuple[str, str]:
        speaker, _, role = name.partition("\x1f")
        return speaker, role

    def pool(
        self,
        seek: Seek,
        terms: Sequence[tuple[int, float]],
        unknown: float,
        allowed: npt.NDArray[np.int64] | None,
        exact_limit: int,
    ) -> Pool:
        """Candidates. Everything in reach if that is at most ``exact_limit``, else the best of each source."""
        seen = self._view(seek, allowed)
        words = lexical(self._columns, self._postings, seen, terms, unknown)
        exact = seen.total <= exact_limit
        some = seen.everything(self._columns) if exact else told(self._columns, self._best(seek, seen, words))
        return self._gather(seek, some, words, seen.total, exact)

    def _view(self, seek: Seek, allowed: npt.NDArray[np.int64] | None) -> View:
        """What the seek sees; the same as the last time, if nothing has changed or run out since."""
        now = seek.now.timestamp()
        key = (seek.reach, seek.kinds, seek.history)
        kept = self._views.get(key) if allowed is None and seek.as_of is None else None
        if kept is not None and kept[0] <= now < kept[1].until:
            seen = kept[1]
            if len(seen.mask) == self._columns.size:
                return seen
            seen = grown(self._columns, seen, self._mask(seek, None, len(seen.mask)), len(self._last), now)
        else:
            seen = view(self._columns, self._mask(seek, allowed), len(self._last), now)
        if allowed is None and seek.as_of is None:
            self._views.pop(key, None)
            while len(self._views) >= _VIEWS:
                del self._views[next(iter(self._views))]
            self._views[key] = (now, seen)
        return seen

    def _mask(self, seek: Seek, allowed: npt.NDArray[np.int64] | None, start: int = 0) -> npt.NDArray[np.bool_]:
        """What is seen, from the slot ``start`` on."""
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
            mask = (columns["status"][some] == _CODE[Status.ACTIVE]) & (moment < columns["valid_to"][some])
        mask &= columns["alive"][some]
        mask &= self._reach(seek.reach, some)
        if seek.kinds:
            codes = [code for kind in seek.kinds if (code := self._kinds.find(kind)) >= 0]
            mask &= np.isin(columns["kind"][some], codes)
        if allowed is not None:
            mask &= np.isin(columns["rowid"][some], allowed)
        return mask

    def _reach(self, reach: Reach, some: slice = _ALL) -> npt.NDArray[np.bool_]:
        keys = [scope.key for scope in reach.scopes]
        inside = np.array(
            [name in keys or (reach.tree and any(name.startswith(key + "/") for key in keys)) for name in self._scopes.names], np.bool_
        )
        scopes = self._columns["scope"][some]
        if inside.all():
            return np.ones(len(scopes), np.bool_)
        result: npt.NDArray[np.bool_] = inside[scopes]
        return result

    def _best(self, seek: Seek, seen: View, words: Lexical) -> npt.NDArray[np.int64]:
        """The best of each source, with their followers: a windowed score flows to the next two turns."""
        after = self._columns["after"]
        chosen = [highest(words.bm, seek.width)]
        if seek.vector is not None and self._columns.dimension:
            chosen.append(self._nearest(seek.vector, seen.mask, seek.width))
        front = np.concatenate(chosen)
        for _ in range(2):
            front = after[front].astype(np.int64)
            front = front[front >= 0]
            chosen.append(front)
        found = distinct(np.concatenate(chosen))
        kept: npt.NDArray[np.int64] = found[seen.mask[found]]
        return kept

    def _nearest(self, vector: _Floats, mask: npt.NDArray[np.bool_], width: int) -> npt.NDArray[np.int64]:
        """The slots in ``mask`` whose vectors are nearest: by codes, rescored exactly; without codes, exactly."""
        columns = self._columns
        if self._near is None:
            slots = np.flatnonzero(mask)
            return slots[highest(columns.dots(slots, vector), width)]
        found = self._near.search(vector, proposed(width, columns.size), mask)
        return found[highest(columns.dots(found, vector), width)]

    def _gather(self, seek: Seek, some: Told, words: Lexical, total: int, exact: bool) -> Pool:
        cos, cosctx, cosnext = self._cosines(seek, some)
        return Pool(
            ids=some.ids,
            cos=cos,
            cosctx=cosctx,
            cosnext=cosnext,
            bm=words.bm[some.slots],
            bmctx=words.window(self._columns.size, some),
            bmses=words.session[some.sessions] if len(words.session) else np.zeros(len(some.slots), np.float32),
            embedded=some.embedded,
            times=some.times,
            sessions=some.sessions,
            place=some.place,
            voices=[self._voice(name) for name in self._voices.names],
            voice=some.voice,
            words=some.words,
            question=some.question,
            dated=some.dated,
            importance=some.importance,
            confidence=some.confidence,
            total=total,
            exact=exact,
        )

    def _cosines(self, seek: Seek, some: Told) -> tuple[_Floats, _Floats, _Floats]:
        columns, slots = self._columns, some.slots
        if seek.vector is None or not columns.dimension or not len(slots):
            return np.zeros(len(slots), np.float32), np.zeros(len(slots), np.float32), np.zeros(len(slots), np.float32)
        if len(slots) * 3 > columns.size and self._near is None:
            dots = np.zeros(columns.size + 1, np.float32)
            # Not a product of a matrix: BLAS would split it among threads that wait for each other on a busy machine.
            np.vecdot(columns.vectors, seek.vector, out=dots[:-1])
        else:
            dots = np.zeros(columns.size + 1, np.float32)
            needed = distinct(np.concatenate([slots, some.before, some.before2, some.after]))
            needed = needed[needed >= 0]
            dots[needed] = columns.dots(needed, seek.vector)
        plain = dots[slots]
        window = WINDOW[0] * plain + WINDOW[1] * dots[some.before] + WINDOW[2] * dots[some.before2]
        return plain, (window / some.norm).astype(np.float32), dots[some.after]


def _print(row: Row) -> int:
    """A number that changes when the row's text or vector does."""
    return hash((row[19], row[20], row[3], row[7]))


def _times(micros: Sequence[Any], otherwise: float) -> npt.NDArray[np.float64]:
    """A column of times in seconds."""
    values = np.array(micros, np.float64)
    return np.where(np.isnan(values), otherwise, values / 1e6)


def _seconds(micros: Any, otherwise: float) -> float:
    return otherwise if micros is None else micros / 1e6
