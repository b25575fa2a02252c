"""Filling of an owner's index with rows and their changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from engrams.store.index.candidateview import WINDOW
from engrams.store.index.indexcolumns import IndexRow, find_sound
from engrams.store.index.indexstate import OwnerIndexState
from engrams.types import Kind, Status

_CHUNK = 2_000
"""Vectors processed at once: few enough to stay in the processor's cache."""

STATUS_CODES: Mapping[str, int] = {status: code for code, status in enumerate(Status)}
"""Numbers of the statuses in the column."""

_RETRIEVABLE = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN = {Kind.TURN, Kind.EXCHANGE}


class IndexRowApplier:
    """Writer of an index's state.

    ``applied``: rows read; ``purged_count``: purged ones; ``damaged``: numbers of rows whose vector no embedder made, and was left out;
    ``touched``: slots that changed after they were added, in order."""

    def __init__(self, state: OwnerIndexState) -> None:
        self._state = state
        self.applied = self.purged_count = 0
        self.damaged: list[int] = []
        self.touched: list[int] = []

    def load(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert new retrievable rows in their original order."""
        self.applied += len(rows)
        self._insert(rows, frozenset())

    def apply(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert, update or remove rows by status, in order of ``changed``."""
        fresh: list[IndexRow] = []
        gone: list[int] = []
        for row in map(IndexRow._make, rows):
            self._state.last_change = max(self._state.last_change, row.changed)
            self.applied += 1
            slot = self._state.row_slots.get(row.rowid)
            self.purged_count += row.status == Status.PURGED
            if row.status not in _RETRIEVABLE:
                if slot is not None:
                    gone.append(slot)
                    self._state.row_slots.drop(row.rowid)
            elif slot is None or self._state.columns["hash"][slot] != _hash_content(row.lexemes, row.vector, row.scope, row.speaker):
                fresh.append(row)
            else:
                self._update_state(slot, row)
                self.touched.append(slot)
        if gone:
            self._remove(np.array(gone))
        known = frozenset(row.rowid for row in fresh if row.rowid in self._state.row_slots)
        if fresh:
            # A row comes twice in one batch only as two changes of one record: the last one counts.
            self._insert(list({row.rowid: row for row in fresh}.values()), known)

    def _insert(self, rows: Sequence[tuple[Any, ...]], known: Set[int]) -> None:
        """Append rows; those in ``known`` (row numbers) replace their old slots."""
        columns = self._state.columns
        first = columns.extend(len(rows))
        # One tuple of values for each field.
        by: Any = IndexRow._make(zip(*rows, strict=True))
        self._state.last_change = max(self._state.last_change, *by.changed)
        self._state.postings.add(first, by.lexemes)
        columns["rowid"][first:] = by.rowid
        columns["alive"][first:] = True
        columns["scope"][first:] = self._state.scopes.encode_all(by.scope)
        columns["voice"][first:] = self._state.voices.encode_all(map("\x1f".join, zip(by.speaker, by.role, strict=True)))
        columns["kind"][first:] = self._state.kinds.encode_all(by.kind)
        columns["said"][first:] = np.array(by.said, np.float64) / 1e6
        columns["words"][first:] = by.words
        columns["length"][first:] = np.fromiter(map(len, by.lexemes), np.int64, len(rows)) // 4
        columns["question"][first:] = by.question
        columns["dated"][first:] = by.dated
        columns["hash"][first:] = [*map(_hash_content, by.lexemes, by.vector, by.scope, by.speaker)]
        columns["status"][first:] = [STATUS_CODES[status] for status in by.status]
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
        columns.set_ids(first, by.id)
        if known:
            for slot, number in enumerate(by.rowid, first):
                old = self._state.row_slots.get(number) if number in known else None
                if old is not None:
                    self._replace(old, slot)
        self._state.row_slots.extend(by.rowid, first)

    def _update_state(self, slot: int, row: IndexRow) -> None:
        columns = self._state.columns
        columns["status"][slot] = STATUS_CODES[row.status]
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
        columns, lasts, scopes = self._state.columns, self._state.last, self._state.columns["scope"][first:].tolist()
        # Lists in the loop: setting single elements of a numpy column takes five times as long.
        before, before2, place, session = ([number] * len(scopes) for number in (-1, -1, 0, 0))
        for at, (rowid, name, kind) in enumerate(zip(by.rowid, by.session, by.kind, strict=True)):
            if rowid in known:
                continue  # it takes the place that it had
            code = len(lasts)
            if name and kind in _SPOKEN:
                code = self._state.sessions.setdefault((scopes[at], name), code)
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
        columns = self._state.columns
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
        self._state.nearest.extend(columns)

    def _set_norms(self, slots: npt.NDArray[np.int64]) -> None:
        columns = self._state.columns
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
        columns = self._state.columns
        columns["alive"][gone] = False
        self.touched += gone.tolist()
        if columns.dimension:
            columns.set_vectors(gone, np.zeros((len(gone), columns.dimension), np.float32))
            self._set_norms(self._find_followers(gone))

    def _replace(self, old: int, new: int) -> None:
        """Move a changed record's place in its session to the new slot."""
        columns = self._state.columns
        columns["alive"][old] = False
        self.touched.append(old)
        for name in ("before", "before2", "after", "session", "place"):
            columns[name][new] = columns[name][old]
        earlier, (*followers,) = int(columns["before"][old]), self._find_followers(np.array([old])).tolist()
        if earlier >= 0:
            columns["after"][earlier] = new
        for name, follower in zip(("before", "before2"), followers, strict=False):
            columns[name][follower] = new
        code = int(columns["session"][old])
        if self._state.last[code] == old:
            self._state.last[code] = new
        if columns.dimension:
            self._set_norms(np.array([new, *followers]))

    def _find_followers(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find the next two slots of each in its session, nearest first."""
        after, found = self._state.columns["after"], []
        for _ in range(2):
            slots = after[slots].astype(np.int64)
            slots = slots[slots >= 0]
            found.append(slots)
        return np.concatenate(found)


def _hash_content(lexemes: bytes, vector: bytes | None, scope: str, speaker: str) -> int:
    """64 bits that tell a row's searched content, equal in every process."""
    return crc32(lexemes, crc32(f"{scope}\x1f{speaker}".encode())) << 32 | crc32(vector or b"")


def _to_seconds(micros: Sequence[Any], missing: float) -> npt.NDArray[np.float64]:
    values = np.array(micros, np.float64)
    return np.where(np.isnan(values), missing, values / 1e6)
