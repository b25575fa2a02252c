"""Numbers of sessions, as sorted hashes that a file can hold."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt


class SessionNumberMap:
    """Map of sessions to their numbers, by hashes of 64 bits.

    Those of a file are looked up where they are mapped: a million records have a hundred thousand
    sessions, and a process that only searches asks for none of them.
    """

    def __init__(
        self, hashes: npt.NDArray[Any] | None = None, numbers: npt.NDArray[Any] | None = None
    ) -> None:
        self._hashes: npt.NDArray[np.uint64] = np.zeros(0, np.uint64) if hashes is None else hashes
        self._numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32) if numbers is None else numbers
        self._recent: dict[int, int] = {}

    def number(self, scope: int, name: str, fresh: int) -> int:
        """Number of a session; ``fresh`` where it had none."""
        key = int.from_bytes(blake2b(f"{scope}\x1f{name}".encode(), digest_size=8).digest())
        found = self._recent.get(key)
        if found is None:
            place = int(self._hashes.searchsorted(np.uint64(key)))
            held = place < len(self._hashes) and int(self._hashes[place]) == key
            found = self._recent[key] = int(self._numbers[place]) if held else fresh
        return found

    def dump(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """Hashes in order, and their numbers."""
        size = len(self._recent)
        hashes = np.concatenate([self._hashes, np.fromiter(self._recent.keys(), np.uint64, size)])
        numbers = np.concatenate(
            [self._numbers, np.fromiter(self._recent.values(), np.int32, size)]
        )
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        numbers = numbers[order]
        # Sessions of the file that were looked up stand twice, with one number.
        kept = (
            np.append(hashes[1:] != hashes[:-1], True) if size else np.ones(len(hashes), np.bool_)
        )
        return hashes[kept], numbers[kept]
