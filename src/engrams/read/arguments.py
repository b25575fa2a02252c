"""Arguments of searches and lists as people write them: filters, kinds, times and counts.

``to_where`` and ``to_as_of`` convert those of a search, ``to_query_fields`` those of a list. Each
raises InputError, with the form that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Literal, SupportsIndex, TypeVar

from engrams.core import Kind, Status
from engrams.core.clock import parse_time, utc
from engrams.errors import InputError
from engrams.ports import OPERATORS, AsOf, Condition, Filter, Moment, Operator, Where

_LIST_FIELDS = frozenset({"tags", "triggers", "steps"})
_FILTER_HINT = (
    'Write {"speaker": "Ann"}, Condition("importance", "gte", 0.7), or Where("and", (…)) of'
    " several."
)
_JOINTS: Mapping[str, Literal["and", "or"]] = {"$and": "and", "$or": "or"}
_ALIASES = {
    "kind": "kinds",
    "status": "statuses",
    "query": "text",
    "top_k": "limit",
    "k": "limit",
    "n": "limit",
    "tag": "tags",
}
_TEXT_FIELDS = frozenset({"session", "subject", "hash", "external_id", "prefix", "text", "after"})
_ORDERS = ("newest", "oldest", "believed")
_Name = TypeVar("_Name", bound=StrEnum)


def to_where(value: Filter | None) -> Where | None:
    """Convert a filter as people write it to a ``Where``.

    Every entry of a dict must hold, and of ``$or`` any filter in its list. A list of values means
    any of them; tags must all be there. InputError: it is nothing of the kind.
    """
    match value:
        case None | Where():
            return value
        case Condition():
            return Where("and", (value,))
        case Mapping() if all(isinstance(field, str) for field in value):
            parts = [part for field, wanted in value.items() for part in _to_parts(field, wanted)]
            return Where("and", tuple(parts)) if value else None
        case _:
            raise InputError(
                f"where cannot be of type {type(value).__name__}: {value!r:.80}.", hint=_FILTER_HINT
            )


def _to_parts(field: str, value: Any) -> tuple[Condition | Where, ...]:
    is_several = isinstance(value, (list, tuple, set, frozenset))
    if field in _JOINTS:
        parts = tuple(map(to_where, value)) if is_several else ()
        if not parts or None in parts:
            raise InputError(
                f"{field} needs a list of filters, not {value!r:.80}.",
                hint='Write {"$or": [{"speaker": "Ann"}, {"importance": {"gte": 0.7}}]}.',
            )
        return (Where(_JOINTS[field], tuple(part for part in parts if part is not None)),)
    if field in _LIST_FIELDS:
        items = value if is_several else (value,)
        return tuple(Condition(field, "contains", item) for item in items)
    if is_several:
        return (Condition(field, "in", list(value)),)
    if isinstance(value, Mapping):
        return tuple(Condition(field, op, operand) for op, operand in _check_operators(value))
    return (Condition(field, "eq", value),)


def _check_operators(value: Mapping[Any, Any]) -> Iterable[tuple[Operator, Any]]:
    """Return operators, also with a leading ``$``, with their operands.

    InputError: there is none, or an unknown one.
    """
    operators: dict[str, Operator] = {}
    for operator in OPERATORS:
        operators |= {operator: operator, f"${operator}": operator}
    unknown = [name for name in value if name not in operators]
    if unknown or not value:
        wrong = f"There is no operator {unknown[0]!r:.80}." if unknown else "The filter is empty."
        raise InputError(wrong, hint=f"The operators are: {', '.join(OPERATORS)}.")
    return [(operators[name], operand) for name, operand in value.items()]


def to_query_fields(arguments: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    """Convert the arguments of a list to fields of a ``RecordQuery``.

    InputError: a field that is not ``allowed``, or a value that it cannot have.
    """
    fields = {_ALIASES.get(name, name): value for name, value in arguments.items()}
    tags = fields.pop("tags", None)
    for name in fields:
        if name not in allowed:
            raise _unknown_field(name, allowed)
    if tags:
        filters = (to_where({"tags": tags}), to_where(fields.get("where")))
        fields["where"] = Where("and", tuple(part for part in filters if part is not None))
    elif "where" in fields:
        fields["where"] = to_where(fields["where"])
    for name in fields.keys() & _TEXT_FIELDS:
        if not isinstance(fields[name], str):
            raise InputError(f"{name} of a list must be text, not {type(fields[name]).__name__}.")
    if fields.get("order", "newest") not in _ORDERS:
        raise InputError(
            f"There is no order {fields['order']!r}.", hint=f"The orders are: {', '.join(_ORDERS)}."
        )
    if "limit" in fields:
        check_count(fields["limit"], "limit", 1)
    if "kinds" in fields:
        fields["kinds"] = to_names(Kind, fields["kinds"])
    if "statuses" in fields:
        fields["statuses"] = to_names(Status, fields["statuses"])
    return fields


def _unknown_field(name: str, allowed: Sequence[str]) -> InputError:
    similar = get_close_matches(name, (*allowed, "tags"), 1)
    tip = f"Did you mean {similar[0]}? " if similar else ""
    return InputError(
        f"list has no field {name!r}.",
        hint=f"{tip}The fields are {', '.join(sorted((*allowed, 'tags', 'as_of')))}.",
    )


def check_count(value: int, name: str, minimum: int = 0) -> int:
    """Return a whole number. InputError: it is none, or below ``minimum``."""
    if not isinstance(value, SupportsIndex) or value.__index__() < minimum:
        raise InputError(
            f"{name} must be a whole number from {minimum}, not {value!r:.80}.",
            hint=f"Write {name}=10, without quotes.",
        )
    return value


def to_names(enum: type[_Name], value: str | Sequence[str] | None) -> tuple[_Name, ...]:
    """Parse names of kinds or statuses. InputError lists the names that there are."""
    try:
        names = (value,) if isinstance(value, str) else tuple(value or ())
        return tuple(enum(name) for name in names)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{problem}.", hint=f"Known: {', '.join(enum)}.") from None


def to_as_of(value: Moment) -> AsOf | None:
    """Make a point in both times; one time stands for both.

    A text is ISO 8601. InputError: it is not a time.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _parse_moment(value)
    if isinstance(value, AsOf):
        return AsOf(
            valid=value.valid and utc(value.valid),
            known=value.known and utc(value.known),
        )
    if not isinstance(value, datetime):
        raise InputError(
            f"as_of is not a time: {value!r:.80}.",
            hint="Give a datetime, or a text such as 2024-05-31.",
        )
    return AsOf(utc(value), utc(value))


def _parse_moment(text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError:
        raise InputError(
            f"as_of is not a time: {text!r:.80}.",
            hint="Write 2024-05-31 or 2024-05-31T14:30:00+02:00.",
        ) from None
