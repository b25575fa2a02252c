"""Convert values of a history or a trace to JSON."""

from __future__ import annotations

from engrams.core import Json


def to_json(value: Json) -> Json:
    """Convert a value and all that is inside it to JSON."""
    if type(value) is str:  # the most frequent case by far
        return value
    match value:
        case dict():
            return {str(name): to_json(member) for name, member in value.items()}
        case list() | tuple() | set() | frozenset():
            return [to_json(member) for member in value]
        case str():
            return str(value)  # an enum's value
        case None | bool() | int():
            return value
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _ if hasattr(value, "labels"):
            return list(value.labels)  # a scope
        case _ if hasattr(value, "__float__"):
            return float(value)
        case _:
            return str(value)
