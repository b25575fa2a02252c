"""What was worked out of texts lately, so that it need not be worked out again: each bounded, and all forgotten at a purge."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Protocol, TypeVar, cast
from weakref import WeakSet


class TextCache(Protocol):
    """Something that remembers texts, or what was made of them. An ``lru_cache`` is one."""

    def cache_clear(self) -> None: ...


Call = TypeVar("Call", bound=Callable[..., object])
Kept = TypeVar("Kept", bound=TextCache)

_lock = Lock()
_registered: WeakSet[TextCache] = WeakSet()


def text_cache(most: int) -> Callable[[Call], Call]:
    """``lru_cache`` for what takes texts: at most so many answers, of which a purge leaves none."""

    def remembering(call: Call) -> Call:
        return cast("Call", register_cache(lru_cache(maxsize=most)(call)))

    return remembering


def register_cache(one: Kept) -> Kept:
    """Have something forget at every purge; it is not kept alive for that."""
    with _lock:
        _registered.add(one)
    return one


def registered_caches() -> tuple[TextCache, ...]:
    """All that there are in this process."""
    with _lock:
        return tuple(_registered)


def clear_caches() -> None:
    """Something was purged: nothing of any text stays remembered. What is asked for next is worked out once more."""
    for one in registered_caches():
        one.cache_clear()
