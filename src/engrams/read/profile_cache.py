"""Cache of profiles by reader."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from engrams.core import Kind, Record
from engrams.ports import ScopeReach
from engrams.text.text_caches import register_cache

_KEPT = 64

_Key: TypeAlias = tuple[ScopeReach, tuple[Kind, ...], int]
_Versions: TypeAlias = tuple[tuple[str, int], ...]


class ProfileCache:
    """Last profile of each reader, valid while its candidates are unchanged.

    ``versions``: ids and versions of the candidates that it was chosen from.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[_Versions, list[Record]]] = OrderedDict()
        register_cache(self)

    def find(self, key: _Key, versions: _Versions) -> list[Record] | None:
        kept = self._kept.get(key)
        return kept[1] if kept is not None and kept[0] == versions else None

    def keep(self, key: _Key, versions: _Versions, records: list[Record]) -> None:
        self._kept[key] = (versions, records)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def cache_clear(self) -> None:
        """Forget all: purged text must not stay in memory."""
        self._kept.clear()
