"""Parts of an object that are made on first access.

An engine has many parts, and a command uses few. ``functools.cached_property`` would do, but it has
no lock from Python 3.12 on, and no way to ask if a part was made.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

Part = TypeVar("Part")


class LazyPart(Generic[Part]):
    """Decorator of a method that makes a part of an object, once, on first access. Thread safe."""

    def __init__(self, make: Callable[[Any], Part]) -> None:
        self.make = make
        self.name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> LazyPart[Part]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Part: ...

    def __get__(self, instance: object | None, owner: type) -> LazyPart[Part] | Part:
        if instance is None:
            return self
        # Once made, the part hides this descriptor: later accesses do not come here.
        attributes = vars(instance)
        # One lock per object, which its thread may take again: parts are made from other parts.
        with attributes.setdefault("_part_lock", RLock()):
            if self.name not in attributes:
                attributes[self.name] = self.make(instance)
        part: Part = attributes[self.name]
        return part

    def is_made(self, instance: object) -> bool:
        """Return True where the part of this object was made."""
        return self.name in vars(instance)
