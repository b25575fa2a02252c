"""Writer of an index: inserts rows of the database, and follows their changes.

A slot is never used twice. A record whose searched content changed gets a new slot, which takes the
old one's place in its session; other changes only write into the columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from engrams.core import Kind, Status
from engrams.index.candidate_view import WINDOW
from engrams.index.columns import IndexRow, find_sound
from engrams.index.session_chain import chain_sessions
from engrams.index.slots import Slots
from engrams.index.state import OwnerIndexState

STATUS_CODES: Mapping[str, int] = {status: code for code, status in enumerate(Status)}
"""Numbers of the statuses in the column."""

_RETRIEVABLE = {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
_SPOKEN_KINDS = {Kind.TURN, Kind.EXCHANGE}
"""Kinds of which sessions consist."""

_BATCH = 500
"""Windows processed at once: few enough for their vectors to stay in the processor's cache."""
_WEIGHTS = np.array(WINDOW, np.float32)
_FLOAT_BYTES = 4


class _SessionLinks(NamedTuple):
    """Links of new rows within their sessions, as columns [rows]."""

    before: list[int]
    before2: list[int]
    after: list[int]
    session: list[int]


class IndexRowApplier:
    """Writer of an index's state."""

    def __init__(self, state: OwnerIndexState) -> None:
        self._state = state
        self.applied = 0
        """Rows that were read."""
        self.purged_count = 0
        """Purged ones among them."""
        self.relinked = 0
        """Times that slots got other neighbours."""
        self.damaged: list[int] = []
        """Numbers of rows whose vector no embedder made, and was left out."""
        self.touched: list[int] = []
        """Slots that changed after they were added, in order."""

    def load(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert new retrievable rows in their original order."""
        self.applied += len(rows)
        self._insert(rows, frozenset())

    def apply(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert, update or remove rows by status, in order of ``changed``."""
        state = self._state
        inserted: list[IndexRow] = []
        removed: list[int] = []
        for row in map(IndexRow._make, rows):
            state.last_change = max(state.last_change, row.changed)
            state.has_triggers |= bool(row.triggered)
            self.applied += 1
            slot = state.row_slots.get(row.rowid)
            self.purged_count += row.status == Status.PURGED
            if row.status not in _RETRIEVABLE:
                if slot is not None:
                    removed.append(slot)
                    state.row_slots.drop(row.rowid)
            elif slot is None or state.columns["hash"][slot] != _hash_content(
                row.lexemes, row.vector, row.scope, row.speaker
            ):
                inserted.append(row)
            else:
                self._update_columns(slot, row)
                self.touched.append(slot)
        if removed:
            self._remove(np.array(removed))
        replaced = frozenset(row.rowid for row in inserted if row.rowid in state.row_slots)
        if inserted:
            # A row comes twice in one batch only as two changes of one record: the last one counts.
            self._insert(list({row.rowid: row for row in inserted}.values()), replaced)

    def _insert(self, rows: Sequence[tuple[Any, ...]], replaced: Set[int]) -> None:
        """Append rows; those in ``replaced`` (row numbers) replace their old slots."""
        columns = self._state.columns
        state = self._state
        first = columns.extend(len(rows))
        # One tuple of values for each field.
        fields: Any = IndexRow._make(zip(*rows, strict=True))
        state.last_change = max(state.last_change, *fields.changed)
        state.has_triggers |= any(fields.triggered)
        state.postings.add(first, fields.lexemes)
        scopes = state.scopes.encode_all(fields.scope)
        links, late = self._link_sessions(first, fields, scopes, replaced)
        voices = map("\x1f".join, zip(fields.speaker, fields.role, strict=True))
        hashes = map(_hash_content, fields.lexemes, fields.vector, fields.scope, fields.speaker)
        # Lists of plain numbers: for a single row, each array more takes as long as all that is
        # computed.
        values = {
            **links._asdict(),
            "rowid": fields.rowid,
            "alive": True,
            "scope": scopes,
            "voice": state.voices.encode_all(voices),
            "kind": state.kinds.encode_all(fields.kind),
            "said_at": _to_seconds(fields.said_at, 0.0),
            "words": fields.words,
            "length": [len(lexemes) // _FLOAT_BYTES for lexemes in fields.lexemes],
            "question": fields.question,
            "dated": fields.dated,
            "hash": [*hashes],
            "status": [STATUS_CODES[status] for status in fields.status],
            "valid_from": _to_seconds(fields.valid_from, -math.inf),
            "valid_to": _to_seconds(fields.valid_to, math.inf),
            "recorded": _to_seconds(fields.recorded_at, -math.inf),
            "retired": _to_seconds(fields.retired_at, math.inf),
            "ended": _to_seconds(fields.ended_at, -math.inf),
            "importance": fields.importance,
            "confidence": fields.confidence,
        }
        for name, column in values.items():
            columns[name][first:] = column
        self._add_vectors(first, fields.vector)
        self._set_norms(np.arange(first, columns.size if columns.dimension else first))
        columns.set_ids(first, fields.id)
        if replaced:
            for slot, rowid in enumerate(fields.rowid, first):
                old_slot = state.row_slots.get(rowid) if rowid in replaced else None
                if old_slot is not None:
                    self._replace(old_slot, slot)
        state.row_slots.extend(fields.rowid, first)
        if late:
            self._chain(np.array(late))

    def _update_columns(self, slot: int, row: IndexRow) -> None:
        """Write what may change of a record while its searched content stays."""
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

    # ----------------------------------------------------------------------------------------------
    # sessions

    def _link_sessions(
        self, first: int, fields: Any, scopes: Sequence[int], replaced: Set[int]
    ) -> tuple[_SessionLinks, list[int]]:
        """Append spoken rows to their sessions; other rows stand alone.

        Returns columns of the rows, and slots that come back to the midst of a session, and are not
        linked yet. ``fields``: an ``IndexRow`` of columns.
        """
        columns = self._state.columns
        last_slots = self._state.last_slots
        count = len(scopes)
        # Lists in the loop: setting single elements of a numpy column takes five times as long.
        before = [-1] * count
        before2 = [-1] * count
        after = [-1] * count
        session_numbers = [0] * count
        late: list[int] = []
        numbers: dict[tuple[int, str], int] = {}
        for position, (rowid, session, kind) in enumerate(
            zip(fields.rowid, fields.session, fields.kind, strict=True)
        ):
            if rowid in replaced:
                continue  # it takes the place that it had
            slot = first + position
            number = len(last_slots)
            if session and kind in _SPOKEN_KINDS:
                key = scopes[position], session
                if key not in numbers:
                    numbers[key] = self._state.sessions.number(*key, number)
                number = numbers[key]
            if number == len(last_slots):
                last_slots.append(-1)
            session_numbers[position] = number
            last_slot = last_slots[number]
            is_new = last_slot >= first
            if last_slot >= 0:
                last_row = (
                    fields.rowid[last_slot - first] if is_new else columns["rowid"][last_slot]
                )
                if rowid < last_row:
                    late.append(slot)
                    continue
            if is_new:
                last = last_slot - first
                before[position] = last_slot
                before2[position] = before[last]
                after[last] = slot
            elif last_slot >= 0:
                before[position] = last_slot
                before2[position] = int(columns["before"][last_slot])
                columns["after"][last_slot] = slot
            last_slots[number] = slot
        return _SessionLinks(before, before2, after, session_numbers), late

    def _remove(self, slots: Slots) -> None:
        """Stop scoring removed records, in windows of later turns too."""
        columns = self._state.columns
        columns["alive"][slots] = False
        self.touched += slots.tolist()
        if columns.dimension:
            columns.set_vectors(slots, np.zeros((len(slots), columns.dimension), np.float32))
        self._chain(slots)

    def _chain(self, slots: Slots) -> None:
        """Link the sessions of slots that went or came back."""
        self.relinked += 1
        changed = chain_sessions(self._state.columns, self._state.last_slots, slots)
        self.touched += changed.tolist()
        if self._state.columns.dimension:
            self._set_norms(changed)

    def _replace(self, old_slot: int, new_slot: int) -> None:
        """Move a changed record's place in its session to the new slot."""
        columns = self._state.columns
        last_slots = self._state.last_slots
        self.relinked += 1
        columns["alive"][old_slot] = False
        self.touched.append(old_slot)
        for name in _SessionLinks._fields:
            columns[name][new_slot] = columns[name][old_slot]
        followers = self._find_followers(old_slot)
        before = int(columns["before"][old_slot])
        if before >= 0:
            columns["after"][before] = new_slot
        for name, follower in zip(("before", "before2"), followers, strict=False):
            columns[name][follower] = new_slot
        number = int(columns["session"][old_slot])
        if last_slots[number] == old_slot:
            last_slots[number] = new_slot
        if columns.dimension:
            self._set_norms(np.array([new_slot, *followers]))

    def _find_followers(self, slot: int) -> list[int]:
        """Find the next two slots in a session, nearest first."""
        after = self._state.columns["after"]
        followers: list[int] = []
        for _ in range(2):
            slot = int(after[slot])
            if slot < 0:
                break
            followers.append(slot)
        return followers

    # ----------------------------------------------------------------------------------------------
    # vectors

    def _add_vectors(self, first: int, blobs: Sequence[Any]) -> None:
        """Set the vectors of the slots from ``first`` on, but for damaged ones.

        ``blobs``: float32 as bytes; None for a record that is not embedded yet.
        """
        columns = self._state.columns
        width = columns.dimension * _FLOAT_BYTES
        if not width:
            return
        embedded = [position for position, blob in enumerate(blobs) if blob is not None]
        positions = np.array(
            [position for position in embedded if len(blobs[position]) == width], np.int64
        )
        joined = b"".join([blobs[position] for position in positions])
        vectors = np.frombuffer(joined, np.float32).reshape(len(positions), columns.dimension)
        is_sound = find_sound(vectors)
        if not is_sound.all() or len(positions) < len(embedded):
            positions = positions[is_sound]
            vectors = vectors[is_sound]
            damaged = first + np.setdiff1d(embedded, positions)
            self.damaged.extend(columns["rowid"][damaged].tolist())
        if len(positions):
            # A slice if possible: copying row by row takes four times as long.
            is_whole = len(positions) == len(blobs)
            slots = slice(first, first + len(blobs)) if is_whole else positions + first
            columns.set_vectors(slots, vectors)
            columns["embedded"][slots] = True
        self._state.nearest.extend(columns)

    def _set_norms(self, slots: Slots) -> None:
        """Compute the lengths of the weighted sums of vectors of a turn and the two before it."""
        columns = self._state.columns
        for start in range(0, len(slots), _BATCH):
            batch = slots[start : start + _BATCH]
            # [batch, 3]: each slot with the two before it.
            windows = np.stack([batch, columns["before"][batch], columns["before2"][batch]], axis=1)
            weights = np.where(windows >= 0, _WEIGHTS, np.float32(0))
            vectors = columns.get_vectors(windows.ravel())
            vectors = vectors.reshape(*windows.shape, columns.dimension)
            # |a + b + c|² by its products: summing the vectors themselves takes three times as
            # long.
            products = np.vecdot(vectors[:, :, None], vectors[:, None])
            squares = np.vecdot(np.vecdot(products, weights[:, None]), weights)
            columns["norm"][batch] = np.sqrt(np.maximum(squares, 0))


def _hash_content(lexemes: bytes, vector: bytes | None, scope: str, speaker: str) -> int:
    """Hash the searched content of a row to 64 bits."""
    text_hash = crc32(lexemes, crc32(f"{scope}\x1f{speaker}".encode()))
    return text_hash << 32 | crc32(vector or b"")


def _to_seconds(micros: Sequence[int | None], missing: float) -> list[float]:
    """Convert microseconds to seconds, with a value for those that are missing."""
    return [missing if value is None else value / 1e6 for value in micros]
