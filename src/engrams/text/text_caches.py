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


Kept = TypeVar("Kept", bound=TextCache)


def text_cache(most: int) -> Callable[[Call], Call]:
    """Cache a function of texts, bounded, and cleared at a purge."""

    def remembering(call: Call) -> Call:
        return cast("Call", register_cache(lru_cache(maxsize=most)(call)))

    return remembering


def register_cache(one: Kept) -> Kept:
    """Register a cache, held weakly, to be cleared at every purge."""
    with _lock:
        _registered.add(one)
    return one


def registered_caches() -> tuple[TextCache, ...]:
    """Return all registered caches of this process."""
    with _lock:
        return tuple(_registered)


def clear_caches() -> None:
    """Clear all registered caches, after a purge."""
    for one in registered_caches():
        one.cache_clear()
