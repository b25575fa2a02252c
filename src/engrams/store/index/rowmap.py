"""Map from store rows to index slots."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

import numpy as np
import numpy.typing as npt

_RECENT = 65_536
"""Rows kept in a dict (150 bytes each) before they move to sorted arrays (12 bytes each)."""


class RowSlots:
    """Row number -> slot: recent rows in a dict, others sorted."""

    def __init__(self) -> None:
        self._recent: dict[int, int] = {}
        self._rows: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._slots: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._most = -1

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
        rows, slots = rows[order], slots[order]
        # Of two entries of a row, the later one counts.
        kept = np.append(rows[1:] != rows[:-1], True) & (slots >= 0)
        self._rows, self._slots = rows[kept], slots[kept]
        self._most = int(self._rows[-1]) if len(self._rows) else -1
        self._recent = {}
