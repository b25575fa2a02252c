"""Cache of profiles by reader."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from engrams.core import Kind, Record
from engrams.ports import ScopeReach
from engrams.text.text_caches import register_cache

_MOST = 64
"""Profiles that are kept."""

_Key: TypeAlias = tuple[ScopeReach, tuple[Kind, ...], int, bool, str]
"""Scopes, kinds, tokens of a profile, whether a question was asked, and the filter."""
_Versions: TypeAlias = tuple[tuple[str, int], ...]
"""Ids and versions of the candidates that a profile was chosen from."""


class ProfileCache:
    """Last profile of each reader, valid while its candidates are unchanged."""

    def __init__(self) -> None:
        self._profiles: OrderedDict[_Key, tuple[_Versions, list[Record]]] = OrderedDict()
        register_cache(self)

    def find(self, key: _Key, versions: _Versions) -> list[Record] | None:
        """Find the profile that was chosen from these candidates."""
        cached_versions, profile = self._profiles.get(key, ((), []))
        return profile if versions and cached_versions == versions else None

    def keep(self, key: _Key, versions: _Versions, profile: list[Record]) -> None:
        """Keep a profile, in place of the oldest where there are too many."""
        self._profiles[key] = (versions, profile)
        while len(self._profiles) > _MOST:
            self._profiles.popitem(last=False)

    def cache_clear(self) -> None:
        """Forget all: purged text must not stay in memory."""
        self._profiles.clear()
