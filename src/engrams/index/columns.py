"""Growing numpy columns of one length, codes for strings, slots of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

VECTORS = "vectors"

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
        ("said", np.float64),
        *((name, np.int32) for name in ("before", "before2", "after", "place", "voice")),
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

_UNIT = 0.05
"""Most by which the square of a vector's length differs from 1."""

_CHUNK = 20_000
"""Vectors quantized at a time."""
_SCANNED = 2_048
"""Vectors scanned at a time: few enough to stay in the processor's cache."""


_RECENT = 65_536
"""Rows kept in a dict (150 bytes each) before they move to sorted arrays (12 bytes each)."""


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
    changed: int
    """Number of the change that wrote it."""
    id: str
    scope: str
    session: str
    kind: str
    status: str
    speaker: str
    said: int
    """``valid_from``, else ``recorded_at``."""
    valid_from: int | None
    valid_to: int | None
    recorded_at: int
    retired_at: int | None
    ended_at: int | None
    words: int
    question: int
    dated: int
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
    """Named numpy columns; ``self["said"]`` is the filled part.

    Vectors are [size, dimension]: float32, or after ``quantize`` int8 times ``self["scale"]`` plus
    their common centre. Ids are UTF-8.
    """

    def __init__(
        self, dimension: int, size: int = 0, arrays: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> None:
        """Make empty columns, or ``size`` rows of ``dump`` with room after them."""
        self.size = size
        self.dimension = dimension
        if arrays is None:
            arrays = {name: np.zeros(64, dtype) for name, dtype in _DTYPES.items()} | {
                _TABLE: np.zeros(64, GATHERED)
            }
            arrays |= {
                VECTORS: np.zeros((64 if dimension else 0, dimension), np.float32),
                "centre": np.zeros(dimension, np.float32),
            }
        self._data = {name: arrays[name] for name in _DTYPES}
        self._set_table(arrays[_TABLE].view(GATHERED))
        self._vectors = arrays[VECTORS]
        self._centre = arrays["centre"]

    def _set_table(self, table: npt.NDArray[np.void]) -> None:
        self._table = table
        self._fields = {name: table[name] for name in GATHERED.names or ()}

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name."""
        filled = self.size if self.dimension else 0
        found = {name: self[name] for name in _DTYPES} | {_TABLE: self.table}
        return found | {VECTORS: self._vectors[:filled], "centre": self._centre}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return (self._data[name] if name in self._data else self._fields[name])[: self.size]

    @property
    def table(self) -> npt.NDArray[np.void]:
        """Rows of ``GATHERED``."""
        return self._table[: self.size]

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """All float32 vectors; only before ``quantize``."""
        whole: npt.NDArray[np.float32] = self._vectors[: self.size if self.dimension else 0]
        return whole

    @property
    def is_quantized(self) -> bool:
        """True after ``quantize``."""
        return bool(self._vectors.dtype == np.int8)

    def get_vectors(self, slots: npt.NDArray[np.int64] | slice) -> npt.NDArray[np.float32]:
        """Vectors of some slots, float32."""
        found: npt.NDArray[np.float32] = self._vectors[slots]
        if found.dtype == np.int8:
            found = (
                np.multiply(found, self["scale"][slots][:, None], dtype=np.float32) + self._centre
            )
        return found

    def dots(
        self, slots: npt.NDArray[np.int64], vector: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """Dot products of some slots' vectors with ``vector``.

        Row by row: BLAS would split a matrix product among threads that wait for each other on a
        busy machine.
        """
        found = self._vectors.take(slots, axis=0)  # half as long as by brackets
        dots: npt.NDArray[np.float32] = np.vecdot(found.astype(np.float32, copy=False), vector)
        return (
            dots * self["scale"].take(slots) + np.vecdot(self._centre, vector)
            if found.dtype == np.int8
            else dots
        )

    def scan(self, vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Dot products of all vectors with ``vector``, as ``dots`` gives them."""
        found = np.empty(self.size, np.float32)
        for start in range(0, self.size, _SCANNED):
            some = slice(start, min(start + _SCANNED, self.size))
            np.vecdot(self._vectors[some].astype(np.float32, copy=False), vector, out=found[some])
        return (
            found * self["scale"] + np.vecdot(self._centre, vector) if self.is_quantized else found
        )

    def set_vectors(
        self, slots: npt.NDArray[np.int64] | slice, vectors: npt.NDArray[np.float32]
    ) -> None:
        """Set the vectors of some slots."""
        if self._vectors.dtype == np.int8:
            self._vectors[slots], self["scale"][slots] = _to_int8(vectors - self._centre)
        else:
            self._vectors[slots] = vectors

    def quantize(self) -> None:
        """Store the vectors as int8, in a quarter of the memory."""
        whole = self._vectors
        # The part common to all vectors of a model is large: without it, the int8 steps are finer.
        self._centre = self.vectors.mean(axis=0)
        self._vectors = np.zeros(whole.shape, np.int8)
        for start in range(0, self.size, _CHUNK):
            some = slice(start, min(start + _CHUNK, self.size))
            self.set_vectors(some, whole[some])

    @property
    def bytes(self) -> int:
        """Bytes of all rows; room in a mapped file takes none."""
        rows = len(self._data["rowid"]) if self._data["rowid"].flags.owndata else self.size
        return rows * (
            sum(each.itemsize for each in (*self._data.values(), self._table))
            + self.dimension * self._vectors.itemsize
        )

    def extend(self, count: int) -> int:
        """Add ``count`` rows; return the first slot.

        Their vectors, scales and fields of the table are zeros; all others are to be set.
        """
        first = self.size
        self.size = self.size + count
        capacity = len(self._data["rowid"])
        filled = slice(first, min(self.size, capacity))
        for column in (
            self._table,
            self._data["scale"],
            *([self._vectors] if self.dimension else []),
        ):
            column[filled] = np.zeros(
                (), column.dtype
            )  # room of a mapped file is not to be trusted
        if self.size > capacity:
            capacity = max(self.size, capacity * 3 // 2 if capacity > 100_000 else capacity * 2)
            for name, column in self._data.items():
                self._data[name] = np.concatenate(
                    [column[:first], np.zeros(capacity - first, column.dtype)]
                )
            self._set_table(
                np.concatenate([self._table[:first], np.zeros(capacity - first, GATHERED)])
            )
            if self.dimension:
                grown = np.zeros((capacity, self.dimension), self._vectors.dtype)
                grown[:first] = self._vectors[:first]
                self._vectors = grown
        return first

    def copy_ids(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.bytes_]:
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

    def set_ids(self, first: int, ids: Iterable[str]) -> None:
        """Set the ids of the slots from ``first`` on."""
        encoded = np.array([*map(str.encode, ids)], np.bytes_)
        if encoded.itemsize > self._data["id"].itemsize:
            self._data["id"] = self._data["id"].astype(encoded.dtype)
        self["id"][first:] = encoded


def find_sound(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Find rows of length 1, or 0: a text without words."""
    with np.errstate(all="ignore"):
        square = np.vecdot(vectors, vectors)
    sound: npt.NDArray[np.bool_] = (np.abs(square - 1) < _UNIT) | (square == 0)
    return sound


def _to_int8(
    vectors: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Quantize rows to int8 with a scale each; cosine error about 0.0005."""
    scale = np.abs(vectors).max(axis=1) / np.float32(127)
    return np.rint(vectors / np.maximum(scale, 1e-30)[:, None]).astype(np.int8), scale


class StringCodebook:
    """Map of strings to small numbers, in order of appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = [*names]
        self._codes = {name: code for code, name in enumerate(self.names)}

    def encode(self, name: str) -> int:
        """Number of a string, a new one if needed."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = len(self.names)
            self.names.append(name)
        return found

    def encode_all(self, names: Iterable[str]) -> list[int]:
        """Numbers of strings, in order."""
        known = self._codes
        encode = self.encode
        return [known[name] if name in known else encode(name) for name in names]

    def find(self, name: str) -> int:
        """Number of a string, or -1."""
        return self._codes.get(name, -1)


class RowSlotMap:
    """Map of database row numbers to index slots."""

    def __init__(
        self, rows: npt.NDArray[np.int64] | None = None, slots: npt.NDArray[np.int32] | None = None
    ) -> None:
        self._recent: dict[int, int] = {}
        self._rows: npt.NDArray[np.int64] = np.zeros(0, np.int64) if rows is None else rows
        self._slots: npt.NDArray[np.int32] = np.zeros(0, np.int32) if slots is None else slots
        self._most = int(self._rows[-1]) if len(self._rows) else -1

    def dump(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Rows in order, and their slots."""
        self._compact()
        return self._rows, self._slots

    def __contains__(self, row: int) -> bool:
        return self.get(row) is not None

    @property
    def bytes(self) -> int:
        """Size of the sorted arrays."""
        return self._rows.nbytes + self._slots.nbytes

    def get(self, row: int) -> int | None:
        """Slot of a row, if it has one."""
        slot = self._recent.get(row)
        if slot is None and row <= self._most:
            place = int(self._rows.searchsorted(row))
            slot = int(self._slots[place]) if self._rows[place] == row else None
        return None if slot == -1 else slot

    def extend(self, rows: Iterable[int], first: int) -> None:
        """Map rows to the slots from ``first`` on."""
        self._recent.update(zip(rows, count(first)))
        if len(self._recent) > max(_RECENT, len(self._rows) // 8):
            self._compact()

    def drop(self, row: int) -> None:
        """Forget a row."""
        self._recent[row] = -1

    def _compact(self) -> None:
        number = len(self._recent)
        rows = np.concatenate([self._rows, np.fromiter(self._recent.keys(), np.int64, number)])
        slots = np.concatenate([self._slots, np.fromiter(self._recent.values(), np.int32, number)])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        slots = slots[order]
        # Of two entries of a row, the later one counts.
        kept = np.append(rows[1:] != rows[:-1], True) & (slots >= 0)
        self._rows = rows[kept]
        self._slots = slots[kept]
        self._most = int(self._rows[-1]) if len(self._rows) else -1
        self._recent = {}
