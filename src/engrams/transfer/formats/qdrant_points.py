"""Points of a local Qdrant store, which are pickles, read without running anything in them.

A pickle may name any function and call it, so a reader of its own makes nothing but stand-ins; and
it may be small and yet unpack to any size, so the result is measured before it is used.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

_MAX_DEPTH = 50
"""Levels of lists and objects in a payload."""
_MAX_GROWTH = 4
"""Values and characters of a point, times the bytes of its pickle."""
_NO_POINT = "it is no point of Qdrant"


def read_point(data: bytes) -> dict[str, Any]:
    """Read the ``id`` and ``payload`` of a pickled point. ValueError: it is none."""
    for operation, argument, _ in pickletools.genops(data):
        # A PUT makes a table as long as its argument says.
        if operation.name.endswith("PUT") and int(argument or 0) > len(data):
            raise ValueError(_NO_POINT)
    try:
        state = getattr(_PointUnpickler(io.BytesIO(data)).load(), "state", None)
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
        ValueError,
    ) as problem:
        raise ValueError(f"{_NO_POINT} ({problem})") from None
    fields = state.get("__dict__") if isinstance(state, dict) else None
    if not isinstance(fields, dict):
        raise ValueError(_NO_POINT)
    point = {name: fields.get(name) for name in ("id", "payload")}
    _check_json(point, _MAX_GROWTH * len(data))
    return point


def _check_json(value: Any, limit: int) -> None:
    """Check for a tree of JSON's types with at most ``limit`` values and characters.

    ValueError: it is none. A pickle may hold one value many times, or itself.
    """
    remaining = limit
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        remaining -= 1 + (len(item) if isinstance(item, str | dict | list) else 0)
        if remaining < 0 or depth > _MAX_DEPTH:
            raise ValueError("it contains more than a point")
        if isinstance(item, dict):
            if not all(isinstance(name, str) for name in item):
                raise ValueError("a name in it is no text")
            pending += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            pending += [(part, depth + 1) for part in item]
        elif item is not None and not isinstance(item, str | int | float):
            raise ValueError(f"it holds {type(item).__name__}, which no JSON does")


class _StoredPoint:
    """Stand-in for Qdrant's class of a point; takes its fields, does nothing."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _PointUnpickler(pickle.Unpickler):
    """Reader of pickled points that makes nothing but stand-ins."""

    def find_class(self, module: str, name: str) -> type[_StoredPoint]:
        if module.startswith("qdrant_client.") and name == "PointStruct":
            return _StoredPoint
        raise pickle.UnpicklingError(f"it names {module}.{name}")
