"""Growing numpy columns of one length, and the rows that they are made of.

Narrow fields that every candidate needs lie row by row in one table; other fields, ids and vectors
are arrays of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from engrams.index.slots import Flags, Floats, Slots

VECTORS = "vectors"
CENTRE = "centre"

_DTYPES: dict[str, Any] = {
    "id": np.dtype("S26"),
    "status": np.int8,
    "kind": np.int16,
    "alive": np.bool_,
    **dict.fromkeys(("scope", "session"), np.int32),
    "rowid": np.int64,
    "hash": np.uint64,
    **dict.fromkeys(("length", "scale"), np.float32),
    **dict.fromkeys(("valid_from", "valid_to", "recorded", "retired", "ended"), np.float64),
}

GATHERED = np.dtype(
    [
        ("said_at", np.float64),
        *((name, np.int32) for name in ("before", "before2", "after", "voice")),
        *((name, np.float32) for name in ("norm", "words", "importance", "confidence")),
        *((name, np.bool_) for name in ("embedded", "question", "dated")),
    ],
    align=True,
)
"""Fields that each candidate needs, row by row: a candidate costs one access to memory instead of a
dozen.
"""
_TABLE = "table"

_LAST_ASCII = 127

_UNIT_TOLERANCE = 0.05
"""Most by which the square of a vector's length differs from 1."""

_QUANTIZED = 20_000
"""Vectors quantized at a time."""
_SCANNED = 2_048
"""Vectors scanned at a time: few enough to stay in the processor's cache."""
_FIRST_CAPACITY = 64
_LARGE_CAPACITY = 100_000
"""Rows from which columns grow by half, not to twice the size."""


class DamagedIndexError(IndexError):
    """Arrays of the index hold what was never written there, as those of a file that rots.

    An IndexError, as numpy raises for other damage: a slot behind the last one.
    """


class IndexRow(NamedTuple):
    """Fields of a record as the index reads them.

    Loading makes one ``IndexRow`` of whole columns, not one for each of a million rows. Times are
    microseconds since 1970.
    """

    rowid: int
    """Number of its row in the database."""
    changed: int
    """Number of the change that wrote it."""
    id: str
    scope: str
    session: str
    kind: str
    status: str
    speaker: str
    said_at: int
    """``valid_from``, else ``recorded_at``."""
    valid_from: int | None
    valid_to: int | None
    recorded_at: int
    retired_at: int | None
    ended_at: int | None
    words: int
    """Number of words of its text."""
    question: int
    """True for a question."""
    dated: int
    """True where its text names a time."""
    importance: float
    confidence: float
    lexemes: bytes
    """Term ids in order, uint32."""
    vector: bytes | None
    """float32."""
    role: str
    triggered: int
    """True where it has triggers."""


class IndexColumns:
    """Named numpy columns; ``self["said_at"]`` is the filled part [slots].

    Vectors are [slots, dimension]: float32, or after ``quantize`` int8 codes, of which
    ``code * self["scale"] + centre`` makes the vector again. Ids are UTF-8.
    """

    def __init__(
        self, dimension: int, size: int = 0, arrays: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> None:
        """Make empty columns, or ``size`` rows of ``dump`` with room after them."""
        self.size = size
        self.dimension = dimension
        if arrays is None:
            arrays = _make_arrays(dimension)
        self._data = {name: arrays[name] for name in _DTYPES}
        self._set_table(arrays[_TABLE].view(GATHERED))
        self._vectors = arrays[VECTORS]
        self._centre = arrays[CENTRE]

    def _set_table(self, table: npt.NDArray[np.void]) -> None:
        self._table = table
        self._fields = {name: table[name] for name in GATHERED.names or ()}

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name."""
        count = self.size if self.dimension else 0
        return {name: self[name] for name in _DTYPES} | {
            _TABLE: self.table,
            VECTORS: self._vectors[:count],
            CENTRE: self._centre,
        }

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        column = self._data[name] if name in self._data else self._fields[name]
        return column[: self.size]

    @property
    def table(self) -> npt.NDArray[np.void]:
        """Rows of ``GATHERED``."""
        return self._table[: self.size]

    @property
    def vectors(self) -> Floats:
        """All float32 vectors [slots, dimension]; only before ``quantize``."""
        filled: Floats = self._vectors[: self.size if self.dimension else 0]
        return filled

    @property
    def is_quantized(self) -> bool:
        """True after ``quantize``."""
        return bool(self._vectors.dtype == np.int8)

    def get_vectors(self, slots: Slots | slice) -> Floats:
        """Vectors of some slots [slots, dimension]."""
        vectors: Floats = self._vectors[slots]
        if self.is_quantized:
            scales = self["scale"][slots][:, None]
            vectors = np.multiply(vectors, scales, dtype=np.float32) + self._centre
        return vectors

    def dots(self, slots: Slots, vector: Floats) -> Floats:
        """Dot products [slots] of some slots' vectors with ``vector``.

        Row by row: BLAS would split a matrix product among threads that wait for each other on a
        busy machine.
        """
        rows = self._vectors.take(slots, axis=0)  # half as long as by brackets
        dots: Floats = np.vecdot(rows.astype(np.float32, copy=False), vector)
        if self.is_quantized:
            dots = dots * self["scale"].take(slots) + np.vecdot(self._centre, vector)
        return dots

    def scan(self, vector: Floats) -> Floats:
        """Dot products of all vectors with ``vector``, as ``dots`` gives them."""
        dots: Floats = np.empty(self.size, np.float32)
        for start in range(0, self.size, _SCANNED):
            batch = slice(start, min(start + _SCANNED, self.size))
            rows = self._vectors[batch].astype(np.float32, copy=False)
            np.vecdot(rows, vector, out=dots[batch])
        if self.is_quantized:
            dots = dots * self["scale"] + np.vecdot(self._centre, vector)
        return dots

    def set_vectors(self, slots: Slots | slice, vectors: Floats) -> None:
        """Set the vectors of some slots [slots, dimension]."""
        if self.is_quantized:
            self._vectors[slots], self["scale"][slots] = _to_int8(vectors - self._centre)
        else:
            self._vectors[slots] = vectors

    def quantize(self) -> None:
        """Store the vectors as int8, in a quarter of the memory."""
        vectors = self._vectors
        # The part common to all vectors of a model is large: without it, the int8 steps are finer.
        self._centre = self.vectors.mean(axis=0)
        self._vectors = np.zeros(vectors.shape, np.int8)
        for start in range(0, self.size, _QUANTIZED):
            batch = slice(start, min(start + _QUANTIZED, self.size))
            self.set_vectors(batch, vectors[batch])

    @property
    def bytes(self) -> int:
        """Bytes of all rows; room in a mapped file takes none."""
        row_numbers = self._data["rowid"]
        rows = len(row_numbers) if row_numbers.flags.owndata else self.size
        row_bytes = sum(column.itemsize for column in (*self._data.values(), self._table))
        return rows * (row_bytes + self.dimension * self._vectors.itemsize)

    def extend(self, count: int) -> int:
        """Add ``count`` rows; return the first slot.

        Their vectors, scales and fields of the table are zeros; all others are to be set.
        """
        first = self.size
        self.size = first + count
        capacity = len(self._data["rowid"])
        added = slice(first, min(self.size, capacity))
        zeroed = [self._table, self._data["scale"]]
        if self.dimension:
            zeroed.append(self._vectors)
        for column in zeroed:
            # Room of a mapped file is not to be trusted.
            column[added] = np.zeros((), column.dtype)
        if self.size > capacity:
            is_large = capacity > _LARGE_CAPACITY
            self._grow(first, max(self.size, capacity * 3 // 2 if is_large else capacity * 2))
        return first

    def _grow(self, filled: int, capacity: int) -> None:
        """Copy the filled part of all arrays into longer ones."""
        spare = capacity - filled
        for name, column in self._data.items():
            self._data[name] = np.concatenate([column[:filled], np.zeros(spare, column.dtype)])
        self._set_table(np.concatenate([self._table[:filled], np.zeros(spare, GATHERED)]))
        if self.dimension:
            vectors = np.zeros((capacity, self.dimension), self._vectors.dtype)
            vectors[:filled] = self._vectors[:filled]
            self._vectors = vectors

    def copy_ids(self, slots: Slots) -> npt.NDArray[np.bytes_]:
        """Ids [slots] as UTF-8, in memory that no file backs.

        DamagedIndexError: some id is not UTF-8.
        """
        ids: npt.NDArray[np.bytes_] = self["id"].take(slots)
        if ids.view(np.uint8).max(initial=0) > _LAST_ASCII:
            try:
                np.char.decode(ids, "utf-8")
            except UnicodeDecodeError as problem:
                raise DamagedIndexError("an id is no text") from problem
        return ids

    def set_ids(self, first_slot: int, ids: Iterable[str]) -> None:
        """Set the ids of the slots from ``first_slot`` on."""
        encoded = np.array([*map(str.encode, ids)], np.bytes_)
        if encoded.itemsize > self._data["id"].itemsize:
            self._data["id"] = self._data["id"].astype(encoded.dtype)
        self["id"][first_slot:] = encoded


def _make_arrays(dimension: int) -> dict[str, npt.NDArray[Any]]:
    """Make empty arrays, with room for the first rows."""
    arrays: dict[str, npt.NDArray[Any]] = {
        name: np.zeros(_FIRST_CAPACITY, dtype) for name, dtype in _DTYPES.items()
    }
    rows = _FIRST_CAPACITY if dimension else 0
    return arrays | {
        _TABLE: np.zeros(_FIRST_CAPACITY, GATHERED),
        VECTORS: np.zeros((rows, dimension), np.float32),
        CENTRE: np.zeros(dimension, np.float32),
    }


def find_sound(vectors: Floats) -> Flags:
    """Mask the vectors [rows, dimension] of length 1, or 0: a text without words."""
    with np.errstate(all="ignore"):
        squares = np.vecdot(vectors, vectors)
    is_sound: Flags = (np.abs(squares - 1) < _UNIT_TOLERANCE) | (squares == 0)
    return is_sound


def _to_int8(vectors: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Quantize rows [rows, dimension] to int8 codes with a scale each [rows].

    Symmetric, by the largest number of a row: ``code = round(number * 127 / largest)``. The cosine
    error is about 0.0005.
    """
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    codes = np.rint(vectors / np.maximum(scales, 1e-30)[:, None]).astype(np.int8)
    return codes, scales
