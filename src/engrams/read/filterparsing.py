"""Filters and times as people write them in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from engrams.clock import parse_time
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.types import Kind, Status

Filter: TypeAlias = "Where | Condition | Mapping[str, Any]"
"""Filter of a search or list: ``{"speaker": "Ann", "tags": "garden"}``, a ``Condition``, or several in a ``Where``."""

_LISTS = frozenset({"tags", "triggers", "steps"})
_FORM = 'Write {"speaker": "Ann"}, Condition("importance", "gte", 0.7), or Where("and", (…)) of several.'
_ALIASES = {"kind": "kinds", "status": "statuses", "query": "text", "top_k": "limit", "k": "limit", "n": "limit", "tag": "tags"}
_N = TypeVar("_N", bound=StrEnum)


def to_where(value: Filter | None) -> Where | None:
    """Convert a filter as people write it to a ``Where``.

    Every entry of a dict must hold. A list of values means any of them; tags must all be there. InputError: it is nothing of the kind."""
    match value:
        case None | Where():
            return value
        case Condition():
            return Where("and", (value,))
        case Mapping() if all(isinstance(name, str) for name in value):
            return Where("and", tuple(part for name, held in value.items() for part in _to_conditions(name, held))) if value else None
        case _:
            raise InputError(f"where is no {type(value).__name__}: {value!r:.80}.", hint=_FORM)


def to_query_fields(fields: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a listing, from those a person writes.

    InputError: an unknown field; it says which are known."""
    given = {_ALIASES.get(name, name): value for name, value in fields.items()}
    tags = given.pop("tags", None)
    for name in given:
        if name not in known:
            near = get_close_matches(name, (*known, "tags"), 1)
            tip = f"Did you mean {near[0]}? " if near else ""
            raise InputError(f"list has no field {name!r}.", hint=f"{tip}The fields are {', '.join(sorted((*known, 'tags', 'as_of')))}.")
    if tags:
        both = (to_where({"tags": tags}), to_where(given.get("where")))
        given["where"] = Where("and", tuple(part for part in both if part is not None))
    elif "where" in given:
        given["where"] = to_where(given["where"])
    for name, kind in (("kinds", Kind), ("statuses", Status)):
        if name in given:
            given[name] = to_names(kind, given[name])
    return given


def to_names(kind: type[_N], value: str | Sequence[str]) -> tuple[_N, ...]:
    """Parse names of kinds or statuses. InputError lists the names."""
    names = (value,) if isinstance(value, str) else tuple(value)
    try:
        return tuple(kind(name) for name in names)
    except ValueError as problem:
        raise InputError(f"{problem}.", hint=f"Known: {', '.join(kind)}.") from None


def to_moment(text: str) -> datetime:
    """Parse an ISO 8601 time. InputError: it is none."""
    try:
        return parse_time(text)
    except ValueError:
        raise InputError(f"as_of is no time: {text!r:.80}.", hint="Write 2024-05-31 or 2024-05-31T14:30:00+02:00.") from None


def _to_conditions(name: str, value: Any) -> tuple[Condition, ...]:
    several = isinstance(value, (list, tuple, set, frozenset))
    if name in _LISTS:
        return tuple(Condition(name, "contains", one) for one in (value if several else (value,)))
    return (Condition(name, "in", list(value)) if several else Condition(name, "eq", value),)
