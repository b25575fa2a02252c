"""Properties of an engine that are parts of its components."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from engrams.engine.lazy_part import LazyPart

Part = TypeVar("Part")


class EnginePart(Generic[Part]):
    """Property of ``MemoryEngine`` that is a part of its components, with type and docstring."""

    def __init__(self, part: LazyPart[Part], *, while_open: bool = False) -> None:
        """Show a part. ``while_open``: a closed engine raises ClosedError instead."""
        self.part = part
        self.__doc__ = part.__doc__
        self._while_open = while_open

    @overload
    def __get__(self, engine: None, owner: type) -> EnginePart[Part]: ...

    @overload
    def __get__(self, engine: object, owner: type) -> Part: ...

    def __get__(self, engine: Any, owner: type) -> EnginePart[Part] | Part:
        if engine is None:
            return self
        # These two are the engine's own: this is a property of its class.
        components = engine._require_open() if self._while_open else engine._components  # noqa: SLF001
        part: Part = getattr(components, self.part.name)
        return part
