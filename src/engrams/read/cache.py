"""Profiles that need not be worked out again."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from engrams.ports import Reach
from engrams.text.cache import enlisted
from engrams.types import Kind, Record

_KEPT = 64

_Key: TypeAlias = tuple[Reach, tuple[Kind, ...], int]
_Versions: TypeAlias = tuple[tuple[str, int], ...]


class ProfileCache:
    """The last profile of each reader, and the ids and versions of what it was chosen from: while those are the same, so is it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[_Versions, list[Record]]] = OrderedDict()
        enlisted(self)

    def find(self, key: _Key, seen: _Versions) -> list[Record] | None:
        kept = self._kept.get(key)
        return kept[1] if kept is not None and kept[0] == seen else None

    def keep(self, key: _Key, seen: _Versions, records: list[Record]) -> None:
        self._kept[key] = (seen, records)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def cache_clear(self) -> None:
        """Forget them: what was purged must not stay in memory either."""
        self._kept.clear()
