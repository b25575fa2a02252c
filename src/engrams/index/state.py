"""State of an owner's index, its file form and its updates."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import field
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from engrams.core import Kind, Status
from engrams.frozen_data import dataclass
from engrams.index.ann import AnnIndex, NearestVectorSearcher
from engrams.index.bm25 import InvertedIndex, PostingSegment
from engrams.index.candidate_view import WINDOW
from engrams.index.columns import (
    VECTORS,
    IndexColumns,
    IndexRow,
    RowSlotMap,
    StringCodebook,
    find_sound,
)
from engrams.index.segment_file import SegmentContent, SegmentFileError
from engrams.index.session_chain import chain_sessions
from engrams.index.session_numbers import SessionNumberMap

_POSTINGS = ("terms", "starts", "slots", "counts")
_FORM = 5
"""Number of the meaning of the arrays: to be raised when any of them means something else."""
_BYTE = np.iinfo(np.uint8).max
_SPARE = 4
"""One part in this many of the rows is room for later ones."""


_CHUNK = 500
"""Windows processed at once: few enough for their vectors to stay in the processor's cache."""
_WEIGHTS = np.array(WINDOW, np.float32)

STATUS_CODES: Mapping[str, int] = {status: code for code, status in enumerate(Status)}
"""Numbers of the statuses in the column."""

_RETRIEVABLE = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN = {Kind.TURN, Kind.EXCHANGE}


@dataclass(slots=True)
class OwnerIndexState:
    """Columns, postings, codes and names of an index.

    ``last``: last slot of each session, or -1, by its number. ``last_change``: number of the last
    change seen; ``has_triggers``: some record has had a trigger.
    """

    columns: IndexColumns
    postings: InvertedIndex = field(default_factory=InvertedIndex)
    row_slots: RowSlotMap = field(default_factory=RowSlotMap)
    nearest: NearestVectorSearcher = field(default_factory=NearestVectorSearcher)
    scopes: StringCodebook = field(default_factory=StringCodebook)
    kinds: StringCodebook = field(default_factory=StringCodebook)
    voices: StringCodebook = field(default_factory=StringCodebook)
    sessions: SessionNumberMap = field(default_factory=SessionNumberMap)
    last: array[int] = field(default_factory=lambda: array("i"))
    last_change: int = 0
    has_triggers: bool = False

    @property
    def bytes(self) -> int:
        """Approximate size, mapped parts included."""
        return self.columns.bytes + self.postings.size + self.row_slots.bytes

    def dump(self) -> SegmentContent:
        """Collect all arrays as one segment; postings are merged meanwhile."""
        self.nearest.unpack(self.columns)
        self.nearest.extend(self.columns, tail=0)
        columns = self.columns.dump()
        arrays: dict[str, npt.NDArray[Any]] = dict(columns)
        arrays["row numbers"], arrays["row slots"] = self.row_slots.dump()
        postings = self.postings.merge()
        if postings is not None:
            arrays |= {name: getattr(postings, name) for name in _POSTINGS}
            if not len(postings.counts) or postings.counts.max() <= _BYTE:
                arrays["counts"] = postings.counts.astype(np.uint8, copy=False)
        if self.nearest.codes is not None:
            arrays["codes"] = np.frombuffer(self.nearest.codes.encode(), np.uint8)
        arrays["last"] = np.array(self.last, np.int32)
        arrays["session hashes"], arrays["session numbers"] = self.sessions.dump()
        names = [self.scopes.names, self.kinds.names, self.voices.names]
        arrays["names"] = np.frombuffer(json.dumps(names, ensure_ascii=False).encode(), np.uint8)
        size = self.columns.size
        growing = (
            frozenset(columns) - {"centre"} - (frozenset() if self.columns.dimension else {VECTORS})
        )
        notes = {
            "form": _FORM,
            "size": size,
            "last_change": self.last_change,
            "has_triggers": self.has_triggers,
        }
        return SegmentContent(notes, arrays, growing, size // _SPARE + 1024)

    @classmethod
    def restore(cls, segment: SegmentContent) -> OwnerIndexState:
        """Rebuild the state from a segment that ``dump`` made.

        SegmentFileError: it is of another version, or its vectors cannot be searched without
        turbovec.
        """
        arrays = segment.arrays
        notes = segment.notes
        if notes["form"] != _FORM:
            raise SegmentFileError("another form of index")
        if "codes" in arrays and not AnnIndex.is_available():
            raise SegmentFileError("turbovec is missing")
        postings = (
            [PostingSegment(*(arrays[name] for name in _POSTINGS))] if "terms" in arrays else []
        )
        scopes, kinds, voices = json.loads(arrays["names"].tobytes())
        return cls(
            columns=IndexColumns(arrays[VECTORS].shape[1], notes["size"], arrays),
            postings=InvertedIndex(postings),
            row_slots=RowSlotMap(arrays["row numbers"], arrays["row slots"]),
            nearest=NearestVectorSearcher(
                packed=(arrays["codes"], notes["size"]) if "codes" in arrays else None
            ),
            scopes=StringCodebook(scopes),
            kinds=StringCodebook(kinds),
            voices=StringCodebook(voices),
            sessions=SessionNumberMap(arrays["session hashes"], arrays["session numbers"]),
            last=array("i", arrays["last"].tobytes()),
            last_change=notes["last_change"],
            has_triggers=notes["has_triggers"],
        )


class IndexRowApplier:
    """Writer of an index's state.

    ``applied``: rows read; ``purged_count``: purged ones; ``damaged``: numbers of rows whose vector
    no embedder made, and was left out; ``touched``: slots that changed after they were added, in
    order. ``relinked``: times that slots got other neighbours or places.
    """

    def __init__(self, state: OwnerIndexState) -> None:
        self._state = state
        self.applied = self.purged_count = self.relinked = 0
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
            self._state.has_triggers |= bool(row.triggered)
            self.applied += 1
            slot = self._state.row_slots.get(row.rowid)
            self.purged_count += row.status == Status.PURGED
            if row.status not in _RETRIEVABLE:
                if slot is not None:
                    gone.append(slot)
                    self._state.row_slots.drop(row.rowid)
            elif slot is None or self._state.columns["hash"][slot] != _hash_content(
                row.lexemes, row.vector, row.scope, row.speaker
            ):
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
        state = self._state
        first = columns.extend(len(rows))
        # One tuple of values for each field.
        by: Any = IndexRow._make(zip(*rows, strict=True))
        state.last_change = max(state.last_change, *by.changed)
        state.has_triggers |= any(by.triggered)
        state.postings.add(first, by.lexemes)
        scopes = state.scopes.encode_all(by.scope)
        links, late = self._link_sessions(first, by, scopes, known)
        # Lists of plain numbers: for a single row, each array more takes as long as all that is
        # computed.
        filled = {
            **links,
            "rowid": by.rowid,
            "alive": True,
            "scope": scopes,
            "voice": state.voices.encode_all(
                map("\x1f".join, zip(by.speaker, by.role, strict=True))
            ),
            "kind": state.kinds.encode_all(by.kind),
            "said": _to_seconds(by.said, 0.0),
            "words": by.words,
            "length": [len(lexemes) // 4 for lexemes in by.lexemes],
            "question": by.question,
            "dated": by.dated,
            "hash": [*map(_hash_content, by.lexemes, by.vector, by.scope, by.speaker)],
            "status": [STATUS_CODES[status] for status in by.status],
            "valid_from": _to_seconds(by.valid_from, -math.inf),
            "valid_to": _to_seconds(by.valid_to, math.inf),
            "recorded": _to_seconds(by.recorded_at, -math.inf),
            "retired": _to_seconds(by.retired_at, math.inf),
            "ended": _to_seconds(by.ended_at, -math.inf),
            "importance": by.importance,
            "confidence": by.confidence,
        }
        for name, values in filled.items():
            columns[name][first:] = values
        self._add_vectors(first, by.vector)
        self._set_norms(np.arange(first, columns.size if columns.dimension else first))
        columns.set_ids(first, by.id)
        if known:
            for slot, number in enumerate(by.rowid, first):
                old = self._state.row_slots.get(number) if number in known else None
                if old is not None:
                    self._replace(old, slot)
        self._state.row_slots.extend(by.rowid, first)
        if late:
            self._chain(np.array(late))

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

    def _link_sessions(
        self, first: int, by: Any, scopes: Sequence[int], known: Set[int]
    ) -> tuple[dict[str, list[int]], list[int]]:
        """Append spoken rows to their sessions; other rows stand alone.

        Returns columns of the rows, and slots that come back to the midst of a session, and are not
        linked yet.
        """
        columns = self._state.columns
        lasts = self._state.last
        # Lists in the loop: setting single elements of a numpy column takes five times as long.
        before, before2, after, place, session = (
            [number] * len(scopes) for number in (-1, -1, -1, 0, 0)
        )
        late: list[int] = []
        here: dict[tuple[int, str], int] = {}
        for at, (rowid, name, kind) in enumerate(zip(by.rowid, by.session, by.kind, strict=True)):
            if rowid in known:
                continue  # it takes the place that it had
            code = len(lasts)
            if name and kind in _SPOKEN:
                key = scopes[at], name
                if key not in here:
                    here[key] = self._state.sessions.number(*key, code)
                code = here[key]
            if code == len(lasts):
                lasts.append(-1)
            last = lasts[code]
            session[at] = code
            if last >= 0 and rowid < (
                by.rowid[last - first] if last >= first else columns["rowid"][last]
            ):
                late.append(first + at)
                continue
            if last >= first:
                before[at], before2[at], place[at] = (
                    last,
                    before[last - first],
                    place[last - first] + 1,
                )
                after[last - first] = first + at
            elif last >= 0:
                before[at], before2[at], place[at] = (
                    last,
                    int(columns["before"][last]),
                    int(columns["place"][last]) + 1,
                )
                columns["after"][last] = first + at
            lasts[code] = first + at
        return {
            "before": before,
            "before2": before2,
            "after": after,
            "place": place,
            "session": session,
        }, late

    def _add_vectors(self, first: int, blobs: Sequence[Any]) -> None:
        columns = self._state.columns
        width = columns.dimension * 4
        if not width:
            return
        some = [number for number, blob in enumerate(blobs) if blob is not None]
        have = np.array([number for number in some if len(blobs[number]) == width], np.int64)
        data = np.frombuffer(b"".join([blobs[number] for number in have]), np.float32).reshape(
            len(have), columns.dimension
        )
        sound = find_sound(data)
        if not sound.all() or len(have) < len(some):
            have = have[sound]
            data = data[sound]
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
            window = np.stack([some, columns["before"][some], columns["before2"][some]], axis=1)
            weights = np.where(window >= 0, _WEIGHTS, np.float32(0))
            vectors = columns.get_vectors(window.ravel()).reshape(*window.shape, columns.dimension)
            # |a + b + c|² by its products: summing the vectors themselves takes three times as
            # long.
            products = np.vecdot(vectors[:, :, None], vectors[:, None])
            square = np.vecdot(np.vecdot(products, weights[:, None]), weights)
            columns["norm"][some] = np.sqrt(np.maximum(square, 0))

    def _remove(self, gone: npt.NDArray[np.int64]) -> None:
        """Stop scoring removed records, in windows of later turns too."""
        columns = self._state.columns
        columns["alive"][gone] = False
        self.touched += gone.tolist()
        if columns.dimension:
            columns.set_vectors(gone, np.zeros((len(gone), columns.dimension), np.float32))
        self._chain(gone)

    def _chain(self, slots: npt.NDArray[np.int64]) -> None:
        """Link the sessions of slots that went or came back."""
        self.relinked += 1
        changed = chain_sessions(self._state.columns, self._state.last, slots)
        self.touched += changed.tolist()
        if self._state.columns.dimension:
            self._set_norms(changed)

    def _replace(self, old: int, new: int) -> None:
        """Move a changed record's place in its session to the new slot."""
        columns = self._state.columns
        self.relinked = self.relinked + 1
        columns["alive"][old] = False
        self.touched.append(old)
        for name in ("before", "before2", "after", "session", "place"):
            columns[name][new] = columns[name][old]
        earlier = int(columns["before"][old])
        (*followers,) = self._find_followers(np.array([old])).tolist()
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
        after = self._state.columns["after"]
        found = []
        for _ in range(2):
            slots = after[slots].astype(np.int64)
            slots = slots[slots >= 0]
            found.append(slots)
        return np.concatenate(found)


def _hash_content(lexemes: bytes, vector: bytes | None, scope: str, speaker: str) -> int:
    """Hash the searched content of a row to 64 bits."""
    return crc32(lexemes, crc32(f"{scope}\x1f{speaker}".encode())) << 32 | crc32(vector or b"")


def _to_seconds(micros: Sequence[int | None], missing: float) -> list[float]:
    return [missing if value is None else value / 1e6 for value in micros]
