"""The index of one owner and one embedding model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from engrams.ports import Pool, Reach, Seek
from engrams.store.index.columns import Codes, Columns
from engrams.store.index.lexical import Lexical, lexical
from engrams.store.index.near import Near
from engrams.store.index.postings import Postings
from engrams.store.index.rows import Row
from engrams.store.index.told import WINDOW, Told, told
from engrams.store.index.view import View, view
from engrams.types import Kind, Status

_CODED = 50_000
"""Slots from which vectors are searched by codes: below, an exact scan is as fast."""

_CHUNK = 2_000
"""Rows of vectors worked on at once: few enough to stay in the processor's cache."""

_VIEWS = 8
_Floats: TypeAlias = npt.NDArray[np.float32]
_STATUSES = tuple(Status)
_CODE: Mapping[str, int] = {status: code for code, status in enumerate(_STATUSES)}
_KEPT = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN = {Kind.TURN, Kind.EXCHANGE}


class OwnerIndex:
    """Columns, vectors and postings of one owner's records. Not thread safe: its user holds a lock."""

    def __init__(self, dimension: int) -> None:
        self.high = 0
        self._columns = Columns(dimension)
        self._postings = Postings()
        self._slots: dict[int, int] = {}
        self._scopes, self._kinds, self._voices = Codes(), Codes(), Codes()
        self._sessions: dict[tuple[str, str], int] = {}
        self._last: dict[int, tuple[int, int, int]] = {}
        self._count = 0
        self._near: Near | None = None
        self._views: dict[tuple[Reach, tuple[Kind, ...], bool], tuple[float, View]] = {}

    @property
    def bytes(self) -> int:
        """Resident size, about."""
        return self._columns.bytes + self._postings.size

    def __len__(self) -> int:
        return len(self._slots)

    # ------------------------------------------------------------------------------------------------------ filling

    def apply(self, rows: Iterable[Row]) -> None:
        """Insert or update rows, in order of ``changed``; one whose status is not retrievable is removed."""
        fresh: list[Row] = []
        gone: list[int] = []
        for row in rows:
            self.high = max(self.high, row[1])
            self._views.clear()
            slot = self._slots.get(row[0])
            if row[6] not in _KEPT:
                if slot is not None:
                    gone.append(slot)
                    del self._slots[row[0]]
            elif slot is None or self._columns["print"][slot] != _print(row):
                fresh.append(row)
            else:
                self._state(slot, row)
        if gone:
            self._remove(np.array(gone))
        if fresh:
            # A row can come twice in one batch only as two changes of one record: the last one counts.
            self._insert(list({row[0]: row for row in fresh}.values()))

    def _insert(self, rows: Sequence[Row]) -> None:
        columns = self._columns
        first = columns.extend(len(rows))
        end = first + len(rows)
        self._postings.add(first, [row[19] for row in rows])
        columns["rowid"][first:] = [row[0] for row in rows]
        columns["alive"][first:] = True
        columns["scope"][first:] = [self._scopes.code(row[3]) for row in rows]
        columns["voice"][first:] = [self._voices.code(f"{row[7]}\x1f{row[21]}") for row in rows]
        columns["kind"][first:] = [self._kinds.code(row[5]) for row in rows]
        columns["said"][first:] = np.array([row[8] for row in rows], np.float64) / 1e6
        columns["words"][first:] = [row[14] for row in rows]
        columns["length"][first:] = [len(row[19]) // 4 for row in rows]
        columns["question"][first:] = [row[15] for row in rows]
        columns["dated"][first:] = [row[16] for row in rows]
        columns["print"][first:] = [_print(row) for row in rows]
        self._states(first, rows)
        self._order(first, rows)
        self._embed(first, rows)
        columns["id"][first:] = [row[2] for row in rows]
        for slot, row in zip(range(first, end), rows, strict=True):
            old = self._slots.get(row[0])
            if old is not None:
                self._replace(old, slot)
            self._slots[row[0]] = slot

    def _states(self, first: int, rows: Sequence[Row]) -> None:
        columns = self._columns
        columns["status"][first:] = [_CODE[row[6]] for row in rows]
        columns["valid_from"][first:] = _times(rows, 9, -math.inf)
        columns["valid_to"][first:] = _times(rows, 10, math.inf)
        columns["recorded"][first:] = _times(rows, 11, -math.inf)
        columns["retired"][first:] = _times(rows, 12, math.inf)
        columns["ended"][first:] = _times(rows, 13, -math.inf)
        columns["importance"][first:] = [row[17] for row in rows]
        columns["confidence"][first:] = [row[18] for row in rows]

    def _state(self, slot: int, row: Row) -> None:
        columns = self._columns
        columns["status"][slot] = _CODE[row[6]]
        columns["valid_from"][slot] = _seconds(row[9], -math.inf)
        columns["valid_to"][slot] = _seconds(row[10], math.inf)
        columns["retired"][slot] = _seconds(row[12], math.inf)
        columns["ended"][slot] = _seconds(row[13], -math.inf)
        columns["importance"][slot] = row[17]
        columns["confidence"][slot] = row[18]

    def _order(self, first: int, rows: Sequence[Row]) -> None:
        """Place each spoken row behind the last one of its session; anything else stands alone."""
        before, before2 = np.full(len(rows), -1, np.int32), np.full(len(rows), -1, np.int32)
        session, place = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
        for number, row in enumerate(rows):
            if row[0] in self._slots:
                continue  # it takes the place that it had
            if row[4] and row[5] in _SPOKEN:
                code = self._sessions.setdefault((row[3], row[4]), self._count)
                self._count += code == self._count
                last, last2, length = self._last.get(code, (-1, -1, 0))
                self._last[code] = (first + number, last, length + 1)
                before[number], before2[number], place[number] = last, last2, length
            else:
                code = self._count
                self._count += 1
            session[number] = code
        columns = self._columns
        columns["before"][first:], columns["before2"][first:], columns["after"][first:] = before, before2, -1
        follows = np.flatnonzero(before >= 0)
        columns["after"][before[follows]] = first + follows
        columns["session"][first:], columns["place"][first:] = session, place

    def _embed(self, first: int, rows: Sequence[Row]) -> None:
        columns = self._columns
        width = columns.dimension * 4
        if not width:
            return
        have = [number for number, row in enumerate(rows) if row[20] is not None and len(row[20]) == width]
        if have:
            data = np.frombuffer(b"".join(rows[number][20] or b"" for number in have), np.float32)
            # A slice where it can be one: copying row by row takes four times as long.
            places = slice(first, first + len(rows)) if len(have) == len(rows) else np.array(have) + first
            columns.vectors[places] = data.reshape(len(have), columns.dimension)
            columns["embedded"][places] = True
        if self._near is not None:
            self._near.add(columns.vectors[first:])
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
            window = columns.rows(some) * np.float32(WINDOW[0])
            for name, weight in zip(("before", "before2"), WINDOW[1:], strict=True):
                other = columns[name][some]
                window += columns.rows(other) * np.where(other >= 0, np.float32(weight), np.float32(0))[:, None]
            columns["norm"][some] = np.sqrt(np.einsum("ij,ij->i", window, window))

    def _remove(self, gone: npt.NDArray[np.int64]) -> None:
        """Removed records are not scored, and no longer lend their meaning to the turns after them."""
        columns = self._columns
        columns["alive"][gone] = False
        if columns.dimension:
            columns.vectors[gone] = 0
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
        if code in self._last:
            last, last2, length = self._last[code]
            self._last[code] = (new if last == old else last, new if last2 == old else last2, length)
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
            return kept[1]
        seen = view(self._columns, self._mask(seek, allowed), self._count, now)
        if allowed is None and seek.as_of is None:
            while len(self._views) >= _VIEWS:
                del self._views[next(iter(self._views))]
            self._views[key] = (now, seen)
        return seen

    def _mask(self, seek: Seek, allowed: npt.NDArray[np.int64] | None) -> npt.NDArray[np.bool_]:
        columns = self._columns
        moment = seek.now.timestamp()
        if seek.as_of is not None:
            valid = seek.as_of.valid.timestamp() if seek.as_of.valid else moment
            known = seek.as_of.known.timestamp() if seek.as_of.known else moment
            mask = (columns["recorded"] <= known) & (known < columns["retired"])
            mask &= columns["valid_from"] <= valid
            mask &= (valid < columns["valid_to"]) | (known < columns["ended"])
        elif seek.history:
            mask = np.ones(columns.size, np.bool_)
        else:
            mask = (columns["status"] == _CODE[Status.ACTIVE]) & (moment < columns["valid_to"])
        mask &= columns["alive"]
        mask &= self._reach(seek.reach)
        if seek.kinds:
            codes = [code for kind in seek.kinds if (code := self._kinds.find(kind)) >= 0]
            mask &= np.isin(columns["kind"], codes)
        if allowed is not None:
            mask &= np.isin(columns["rowid"], allowed)
        return mask

    def _reach(self, reach: Reach) -> npt.NDArray[np.bool_]:
        keys = [scope.key for scope in reach.scopes]
        inside = np.array(
            [name in keys or (reach.tree and any(name.startswith(key + "/") for key in keys)) for name in self._scopes.names], np.bool_
        )
        if inside.all():
            return np.ones(self._columns.size, np.bool_)
        result: npt.NDArray[np.bool_] = inside[self._columns["scope"]]
        return result

    def _best(self, seek: Seek, seen: View, words: Lexical) -> npt.NDArray[np.int64]:
        """The best of each source, with their followers: a windowed score flows to the next two turns."""
        after = self._columns["after"]
        chosen = [_top(words.bm, seek.width)]
        if seek.vector is not None and self._columns.dimension:
            chosen.append(self._nearest(seek.vector, seen.mask, seen.slots, seek.width))
        front = np.concatenate(chosen)
        for _ in range(2):
            front = after[front].astype(np.int64)
            front = front[front >= 0]
            chosen.append(front)
        found = _distinct(np.concatenate(chosen))
        kept: npt.NDArray[np.int64] = found[seen.mask[found]]
        return kept

    def _nearest(
        self, vector: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_], slots: npt.NDArray[np.int64], width: int
    ) -> npt.NDArray[np.int64]:
        """The slots in ``mask`` whose vectors are nearest: by codes, rescored exactly; without codes, exactly."""
        columns = self._columns
        if self._near is None:
            return slots[_top(columns.vectors[slots] @ vector, width)]
        found = self._near.search(vector, width * 2, mask)
        return found[_top(columns.rows(found) @ vector, width)]

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
            dots = np.append(columns.vectors @ seek.vector, np.float32(0))
        else:
            dots = np.zeros(columns.size + 1, np.float32)
            needed = _distinct(np.concatenate([slots, some.before, some.before2, some.after]))
            needed = needed[needed >= 0]
            dots[needed] = columns.rows(needed) @ seek.vector
        plain = dots[slots]
        window = WINDOW[0] * plain + WINDOW[1] * dots[some.before] + WINDOW[2] * dots[some.before2]
        return plain, (window / some.norm).astype(np.float32), dots[some.after]


def _distinct(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each once, in order (np.unique would load numpy.ma, which takes longer than a whole search)."""
    ordered = np.sort(slots)
    kept: npt.NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    return kept


def _print(row: Row) -> int:
    """A number that changes when the row's text or vector does."""
    return hash((row[19], row[20], row[3], row[7]))


def _times(rows: Sequence[Row], field: int, otherwise: float) -> npt.NDArray[np.float64]:
    """A column of times in seconds."""
    values = np.array([row[field] for row in rows], np.float64)
    return np.where(np.isnan(values), otherwise, values / 1e6)


def _seconds(micros: Any, otherwise: float) -> float:
    return otherwise if micros is None else micros / 1e6


def _top(scores: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.int64]:
    """Indices of the ``width`` highest positive scores."""
    # Nothing at all is the commonest score, and a partition is slow among so many equals.
    found = np.flatnonzero(scores > 0)
    if len(found) > width:
        found = found[np.argpartition(scores[found], len(found) - width)[-width:]]
    return found
