"""Bounded caches of text-derived values; a purge clears them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Protocol, TypeVar, cast
from weakref import WeakSet

Call = TypeVar("Call", bound=Callable[..., object])

_lock = Lock()
_registered: WeakSet[TextCache] = WeakSet()


class TextCache(Protocol):
    """Cache of texts or values derived from them, like ``lru_cache``."""

    def cache_clear(self) -> None: ...


Cache = TypeVar("Cache", bound=TextCache)


def text_cache(max_entries: int) -> Callable[[Call], Call]:
    """Cache a function of texts, bounded, and cleared at a purge."""

    def remembering(call: Call) -> Call:
        return cast("Call", register_cache(lru_cache(maxsize=max_entries)(call)))

    return remembering


def register_cache(cache: Cache) -> Cache:
    """Register a cache, held weakly, to be cleared at every purge."""
    with _lock:
        _registered.add(cache)
    return cache


def registered_caches() -> tuple[TextCache, ...]:
    """Return all registered caches of this process."""
    with _lock:
        return tuple(_registered)


def clear_caches() -> None:
    """Clear all registered caches, after a purge."""
    for cache in registered_caches():
        cache.cache_clear()
