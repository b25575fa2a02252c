"""Maps of names, sessions and rows to the small numbers that stand for them in arrays.

Those of rows and sessions are sorted arrays, which a file can hold and a process can map, with a
dict of what came since: a million records have a hundred thousand sessions, and a process that only
searches asks for none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

_MOST_RECENT = 65_536
"""Rows kept in a dict (150 bytes each) before they move to sorted arrays (12 bytes each)."""


class StringCodebook:
    """Map of strings to small numbers, in order of appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = [*names]
        """Strings by their numbers."""
        self._codes = {name: code for code, name in enumerate(self.names)}

    def encode(self, name: str) -> int:
        """Number of a string, a new one if needed."""
        code = self._codes.get(name)
        if code is None:
            code = len(self.names)
            self._codes[name] = code
            self.names.append(name)
        return code

    def encode_all(self, names: Iterable[str]) -> list[int]:
        """Numbers of strings, in order."""
        codes = self._codes
        encode = self.encode
        return [codes[name] if name in codes else encode(name) for name in names]

    def find(self, name: str) -> int:
        """Number of a string, or -1."""
        return self._codes.get(name, -1)


class SessionNumberMap:
    """Map of sessions to their numbers, by hashes of 64 bits."""

    def __init__(
        self, hashes: npt.NDArray[Any] | None = None, numbers: npt.NDArray[Any] | None = None
    ) -> None:
        """Make an empty map, or that of ``dump``."""
        self._hashes: npt.NDArray[np.uint64] = np.zeros(0, np.uint64) if hashes is None else hashes
        self._numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32) if numbers is None else numbers
        self._recent: dict[int, int] = {}

    def number(self, scope: int, session: str, unused: int) -> int:
        """Number of a session; ``unused`` where it had none."""
        digest = blake2b(f"{scope}\x1f{session}".encode(), digest_size=8).digest()
        session_hash = int.from_bytes(digest)
        number = self._recent.get(session_hash)
        if number is None:
            position = int(self._hashes.searchsorted(np.uint64(session_hash)))
            is_known = position < len(self._hashes) and int(self._hashes[position]) == session_hash
            number = int(self._numbers[position]) if is_known else unused
            self._recent[session_hash] = number
        return number

    def dump(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """Hashes [sessions], ascending, and their numbers [sessions]."""
        size = len(self._recent)
        hashes = np.concatenate([self._hashes, np.fromiter(self._recent.keys(), np.uint64, size)])
        numbers = np.concatenate(
            [self._numbers, np.fromiter(self._recent.values(), np.int32, size)]
        )
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        numbers = numbers[order]
        if not size:
            return hashes, numbers
        # Sessions of the file that were looked up stand twice, with one number.
        is_last = np.append(hashes[1:] != hashes[:-1], True)
        return hashes[is_last], numbers[is_last]


class RowSlotMap:
    """Map of database row numbers to index slots."""

    def __init__(
        self, rows: npt.NDArray[np.int64] | None = None, slots: npt.NDArray[np.int32] | None = None
    ) -> None:
        """Make an empty map, or that of ``dump``."""
        self._recent: dict[int, int] = {}
        """Slots of rows that came since; -1 for one that was dropped."""
        self._rows: npt.NDArray[np.int64] = np.zeros(0, np.int64) if rows is None else rows
        self._slots: npt.NDArray[np.int32] = np.zeros(0, np.int32) if slots is None else slots
        self._highest = int(self._rows[-1]) if len(self._rows) else -1

    def dump(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Rows [rows], ascending, and their slots [rows]."""
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
        if slot is None and row <= self._highest:
            position = int(self._rows.searchsorted(row))
            slot = int(self._slots[position]) if self._rows[position] == row else None
        return None if slot == -1 else slot

    def extend(self, rows: Iterable[int], first_slot: int) -> None:
        """Map rows to the slots from ``first_slot`` on."""
        self._recent.update(zip(rows, count(first_slot)))
        if len(self._recent) > max(_MOST_RECENT, len(self._rows) // 8):
            self._compact()

    def drop(self, row: int) -> None:
        """Forget a row."""
        self._recent[row] = -1

    def _compact(self) -> None:
        """Move what came since to the sorted arrays."""
        size = len(self._recent)
        rows = np.concatenate([self._rows, np.fromiter(self._recent.keys(), np.int64, size)])
        slots = np.concatenate([self._slots, np.fromiter(self._recent.values(), np.int32, size)])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        slots = slots[order]
        # Of two entries of a row, the later one counts.
        is_last = np.append(rows[1:] != rows[:-1], True)
        is_current = is_last & (slots >= 0)
        self._rows = rows[is_current]
        self._slots = slots[is_current]
        self._highest = int(self._rows[-1]) if len(self._rows) else -1
        self._recent = {}
