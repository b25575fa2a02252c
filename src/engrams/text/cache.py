"""What was worked out of texts lately, so that it need not be worked out again: each bounded, and all forgotten at a purge."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Protocol, TypeVar, cast
from weakref import WeakSet


class Memo(Protocol):
    """Something that remembers texts, or what was made of them. An ``lru_cache`` is one."""

    def cache_clear(self) -> None: ...


Call = TypeVar("Call", bound=Callable[..., object])
Kept = TypeVar("Kept", bound=Memo)

_lock = Lock()
_registered: WeakSet[Memo] = WeakSet()


def memo(most: int) -> Callable[[Call], Call]:
    """``lru_cache`` for what takes texts: at most so many answers, of which a purge leaves none."""

    def remembering(call: Call) -> Call:
        return cast("Call", enlisted(lru_cache(maxsize=most)(call)))

    return remembering


def enlisted(one: Kept) -> Kept:
    """Have something forget at every purge; it is not kept alive for that."""
    with _lock:
        _registered.add(one)
    return one


def memos() -> tuple[Memo, ...]:
    """All that there are in this process."""
    with _lock:
        return tuple(_registered)


def forget() -> None:
    """Something was purged: nothing of any text stays remembered. What is asked for next is worked out once more."""
    for one in memos():
        one.cache_clear()
