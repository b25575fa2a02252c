"""Sequence of ids that finds the position of each id quickly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class IdSequence(Sequence[str]):
    """Sequence of ids that finds the position of an id.

    The map of positions is built when a position is first asked for. Encoded ids are decoded only
    when they are asked for, because a search needs few of them. ``grown`` returns a longer sequence
    that shares the list and the map with this one. This one still shows only its own ids.
    """

    __slots__ = ("_count", "_encoded", "_ids", "_positions")

    def __init__(self, ids: list[str] | npt.NDArray[np.bytes_]) -> None:
        """Hold ids, as text or as UTF-8 that nobody changes."""
        self._ids: list[str] | None = ids if isinstance(ids, list) else None
        self._encoded = None if isinstance(ids, list) else ids
        self._count = len(ids)
        self._positions: dict[str, int] | None = None

    def _list(self) -> list[str]:
        if self._ids is None:
            assert self._encoded is not None
            self._ids = [*map(bytes.decode, self._encoded.tolist())]
        return self._ids

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> list[str]: ...

    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return self._list()[: self._count][position]
        return self._list()[position if position >= 0 else position + self._count]

    def __iter__(self) -> Iterator[str]:
        return islice(self._list(), self._count)

    def at(self, positions: Sequence[int]) -> list[str]:
        """Ids at some positions, none of them negative."""
        if self._ids is None and self._encoded is not None:
            return [*map(bytes.decode, self._encoded.take(positions).tolist())]
        ids = self._list()
        return [ids[position] for position in positions]

    @property
    def positions(self) -> Mapping[str, int]:
        """Position of each id."""
        if self._positions is None:
            self._positions = {record_id: position for position, record_id in enumerate(self)}
        return self._positions

    def grown(self, appended: Sequence[str]) -> IdSequence:
        """Return this sequence and more ids; both share their storage.

        Each sequence may grow once.
        """
        if self._positions is not None:
            end = self._count + len(appended)
            self._positions.update(zip(appended, range(self._count, end), strict=True))
        ids = self._list()
        ids += appended
        extended = IdSequence(ids)
        extended._positions = self._positions
        return extended
