"""SQL clauses for conditions and scopes, with bound values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

from engrams.core import Scope
from engrams.core.clock import micros, parse_time
from engrams.errors import InputError, ScopeError
from engrams.frozen_data import dataclass
from engrams.ports import AsOf, Condition, ScopeReach, Where
from engrams.store.sql.row_conversion import (
    ENUMS,
    LISTS,
    LONG_TEXTS,
    REALS,
    TEXTS,
    TIMES,
    WHOLES,
    encode_json,
)

OPERATORS = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists")
_ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_WANTED = "SELECT value FROM json_each(?)"
_HAD = "SELECT value FROM json_each({})"
_LISTED = f"({_WANTED})"
_LISTED_NUMBERS = "(SELECT CAST(value AS NUMERIC) FROM json_each(?))"
_ITEMS = "SELECT 1 FROM json_each({}, ?) AS one"
_DEEPEST = 16
_MOST = 200
_LONGEST = 500

_TEXT_FIELDS = frozenset({*TEXTS, *LONG_TEXTS, *ENUMS, "scope"})
_NUMBER_FIELDS = frozenset({*REALS, *WHOLES})
_JSON_FIELDS = ("meta", "provenance")
KNOWN = (
    *sorted((*_TEXT_FIELDS, *_NUMBER_FIELDS, *TIMES, *LISTS)),
    "meta.<name>",
    "provenance.<name>",
)


@dataclass(frozen=True, slots=True)
class SqlClause:
    """Part of a WHERE with its bound values; empty text: no condition."""

    text: str = ""
    values: tuple[Any, ...] = ()


def join_clauses(parts: Iterable[SqlClause], word: Literal["AND", "OR"] = "AND") -> SqlClause:
    """Join non-empty clauses, in brackets if several."""
    kept = [*filter(attrgetter("text"), parts)]
    text = f" {word} ".join(map(attrgetter("text"), kept))
    return SqlClause(
        f"({text})" if len(kept) > 1 else text,
        tuple(chain.from_iterable(map(attrgetter("values"), kept))),
    )


def reach_clause(seen: ScopeReach) -> SqlClause:
    """Restrict to the owner and the scopes of the reach."""
    owner = SqlClause("owner = ?", (seen.owner.key,))
    keys = [*map(attrgetter("key"), seen.scopes)]
    if len(keys) > _MOST:
        raise InputError(
            f"A read sees at most {_MOST} scopes, not {len(keys)}.",
            hint="Read a scope above them with everything below it.",
        )
    if seen.tree and seen.owner.key in keys:
        return owner
    exact = (
        SqlClause(f"scope IN ({', '.join('?' * len(keys))})", tuple(keys))
        if keys
        else SqlClause("FALSE")
    )
    # Everything below "a/b" sorts between "a/b/" and "a/b0": "0" is the character after "/".
    below = (
        [SqlClause("(scope >= ? AND scope < ?)", (f"{key}/", f"{key}0")) for key in keys]
        if seen.tree
        else []
    )
    return join_clauses([owner, join_clauses([exact, *below], "OR")])


def as_of_clause(point: AsOf, now: datetime) -> SqlClause:
    """Restrict to records true at one time, as known at another."""
    valid = micros(point.valid or now)
    known = micros(point.known or now)
    return SqlClause(
        "(status IN ('active', 'superseded', 'archived') AND (valid_from IS NULL OR valid_from <="
        " ?) AND (valid_to IS NULL OR ? < valid_to OR (ended_at IS NOT NULL AND ? < ended_at)) AND"
        " recorded_at <= ? AND (retired_at IS NULL OR ? < retired_at))",
        (valid, valid, known, known, known),
    )


def where_clause(filter_part: Where | None) -> SqlClause:
    """Compile a filter; empty without conditions.

    InputError names an unknown field or operator and the known ones.
    """
    return SqlClause() if filter_part is None else _compile_part(filter_part, 0, [0])


def _compile_part(filter_part: Where | Condition, depth: int, counted: list[int]) -> SqlClause:
    counted[0] += 1
    if depth > _DEEPEST or counted[0] > _MOST:
        raise InputError(f"The filter is too large: at most {_MOST} conditions, {_DEEPEST} deep.")
    if isinstance(filter_part, Condition):
        return _compile_condition(filter_part)
    parts = [_compile_part(item, depth + 1, counted) for item in filter_part.parts]
    match filter_part.op:
        case "and":
            return join_clauses(parts)
        case "or":
            return join_clauses(parts, "OR")
        case "not":
            inner = join_clauses(parts)
            return SqlClause(f"NOT ({inner.text})", inner.values) if inner.text else inner
        case _:
            raise InputError(
                f"Conditions cannot be joined by {filter_part.op!r}.", hint="Use and, or, not."
            )


def _compile_condition(condition: Condition) -> SqlClause:
    name = str(condition.field)
    op = condition.op
    value = condition.value
    if op not in OPERATORS:
        raise InputError(
            f"There is no operator {op!r}.", hint=f"Operators: {', '.join(OPERATORS)}."
        )
    head, _, rest = name.partition(".")
    if rest and head in _JSON_FIELDS:
        return _json_clause(head, _json_path(rest), op, value)
    if name in LISTS:
        return _list_clause(name, op, value)
    if name in _TEXT_FIELDS or name in _NUMBER_FIELDS or name in TIMES:
        return _column_clause(name, op, value)
    raise InputError(
        f"Records cannot be filtered by {name!r}.", hint=f"Fields: {', '.join(KNOWN)}."
    )


# --------------------------------------------------------------------------------------------------
# columns


def _column_clause(name: str, op: str, value: Any) -> SqlClause:
    # NULL compares as false, never as unknown, so that NOT means the opposite.
    match op:
        case "exists":
            if name in TIMES:
                filled = f"{name} IS NOT NULL"
            elif name in _TEXT_FIELDS:
                filled = f"{name} <> ''"
            else:
                filled = "TRUE"
            return _is_so(filled, value)
        case "contains":
            if name not in _TEXT_FIELDS:
                raise InputError(
                    f"{name} is neither a text nor a list.",
                    hint="contains looks into texts and lists.",
                )
            return SqlClause(f"instr({name}, ?) > 0", (_require_text(value),))
        case "eq":
            return SqlClause(f"{name} IS NOT DISTINCT FROM ?", (_column_value(name, value),))
        case "ne":
            return SqlClause(f"{name} IS DISTINCT FROM ?", (_column_value(name, value),))
        case "in" | "nin":
            values = [_column_value(name, item) for item in _require_list(value)]
            found = (
                f"coalesce({name} IN {_LISTED if name in _TEXT_FIELDS else _LISTED_NUMBERS}, FALSE)"
            )
            return SqlClause(found if op == "in" else f"NOT {found}", (encode_json(values),))
        case _:
            compared = f"{name} {_ORDER[op]} ?"
            return SqlClause(
                f"coalesce({compared}, FALSE)" if name in TIMES else compared,
                (_column_value(name, value),),
            )


def _list_clause(name: str, op: str, value: Any) -> SqlClause:
    match op:
        case "exists":
            return _is_so(f"{name} <> '[]'", value)
        case "eq" | "ne":
            values = encode_json([_require_text(item) for item in _require_list(value)])
            return SqlClause(f"{name} {'=' if op == 'eq' else '<>'} ?", (values,))
        case "contains" | "in" | "nin":
            wanted = encode_json(
                [
                    _require_text(item)
                    for item in ([value] if isinstance(value, str) else _require_list(value))
                ]
            )
            if op == "contains":
                return SqlClause(f"NOT EXISTS ({_WANTED} EXCEPT {_HAD.format(name)})", (wanted,))
            found = f"EXISTS ({_WANTED} INTERSECT {_HAD.format(name)})"
            return SqlClause(found if op == "in" else f"NOT {found}", (wanted,))
        case _:
            raise InputError(
                f"{name} is a list and has no order.",
                hint="Use contains, in, nin, eq, ne or exists.",
            )


def _column_value(name: str, value: Any) -> Any:
    if name in TIMES:
        return None if value is None else _time_micros(value)
    if name in _NUMBER_FIELDS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is a number; {value!r:.100} is none.")
        return value
    if name == "scope" and not isinstance(value, str):
        return _scope_key(value)
    return _require_text(value)


def _scope_key(value: Any) -> str:
    labels = value.labels if isinstance(value, Scope) else value
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"{value!r:.100} is no scope.",
            hint="Give its key as a text, or its labels as a list of texts.",
        )
    try:
        return (value if isinstance(value, Scope) else Scope.of(labels)).key
    except ScopeError as problem:
        raise InputError(f"{value!r:.100} is no scope.", hint=problem.hint) from None


def _time_micros(value: Any) -> int:
    if isinstance(value, str):
        try:
            value = parse_time(value)
        except ValueError:
            raise InputError(
                f"{value!r:.100} is no time.",
                hint="Write it as ISO 8601: 2025-05-01T12:00:00+00:00.",
            ) from None
    if not isinstance(value, datetime):
        raise InputError(f"{value!r:.100} is no time.", hint="Give a datetime or an ISO 8601 text.")
    return micros(value)


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r:.100} is no text.")
    return str(value)


def _is_so(text: str, value: Any, *values: Any) -> SqlClause:
    """Negate the SQL test of an ``exists`` condition with value false."""
    if not isinstance(value, bool):
        raise InputError("exists is asked with true or false.")
    return SqlClause(f"({text})" if value else f"NOT ({text})", values)


def _require_list(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    raise InputError(f"A list is needed, not {value!r:.100}.")


# --------------------------------------------------------------------------------------------------
# JSON


@dataclass(frozen=True, slots=True)
class _JsonValue:
    """SQL for type and content of a JSON value, with bound values."""

    kind: str
    content: str
    values: tuple[Any, ...] = ()

    def compare_numbers(self, test: str, value: Any) -> SqlClause:
        """Compare the content where it is a number."""
        text = (
            f"CASE WHEN {self.kind} IN ('integer', 'real') THEN CAST({self.content} AS NUMERIC)"
            f" {test} ELSE FALSE END"
        )
        return SqlClause(text, (*self.values, *self.values, value))


def _json_clause(column: str, path: str, op: str, value: Any) -> SqlClause:
    """Test a value inside JSON.

    Only values of one type compare; a missing one equals null alone.
    """
    there = _JsonValue(
        f"coalesce(json_type({column}, ?), 'null')", f"json_extract({column}, ?)", (path,)
    )
    match op:
        case "exists":
            return _is_so(f"json_type({column}, ?) IS NOT NULL", value, path)
        case "eq":
            return _equals(there, value)
        case "ne":
            return _negate(_equals(there, value))
        case "in" | "nin":
            found = _is_in(there, _require_list(value))
            return found if op == "in" else _negate(found)
        case "contains":
            return _contains(column, there, path, value)
        case _:
            return _compares(there, op, value)


def _equals(there: _JsonValue, value: Any) -> SqlClause:
    match value:
        case None | True | False:
            if value is None:
                name = "null"
            elif value:
                name = "true"
            else:
                name = "false"
            return SqlClause(f"{there.kind} = '{name}'", there.values)
        case int() | float():
            return there.compare_numbers("= ?", value)
        case str():
            return SqlClause(
                f"({there.kind} = 'text' AND {there.content} = ?)",
                (*there.values, *there.values, str(value)),
            )
        case _:
            kind = "array" if isinstance(value, list | tuple) else "object"
            return SqlClause(
                f"({there.kind} = '{kind}' AND {there.content} = ?)",
                (*there.values, *there.values, encode_json(value)),
            )


def _is_in(there: _JsonValue, values: Sequence[Any]) -> SqlClause:
    # SQLite bounds the number of conditions in one expression.
    texts = [value for value in values if isinstance(value, str)]
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    others = [
        value for value in values if value is None or isinstance(value, bool | list | tuple | dict)
    ]
    if len(others) > _MOST:
        raise InputError(f"A list of more than {_MOST} lists or maps cannot be looked up.")
    parts = [_equals(there, value) for value in others]
    if texts:
        parts.append(
            SqlClause(
                f"({there.kind} = 'text' AND {there.content} IN {_LISTED})",
                (*there.values, *there.values, encode_json(texts)),
            )
        )
    if numbers:
        parts.append(there.compare_numbers(f"IN {_LISTED_NUMBERS}", encode_json(numbers)))
    return join_clauses(parts, "OR") if parts else SqlClause("FALSE")


def _contains(column: str, there: _JsonValue, path: str, value: Any) -> SqlClause:
    item = _equals(_JsonValue("one.type", "one.value"), value)
    inside = SqlClause(
        f"WHEN 'array' THEN EXISTS ({_ITEMS.format(column)} WHERE {item.text})",
        (path, *item.values),
    )
    text = (
        SqlClause(f"WHEN 'text' THEN instr({there.content}, ?) > 0", (*there.values, str(value)))
        if isinstance(value, str)
        else SqlClause()
    )
    return SqlClause(
        f"CASE {there.kind} {text.text} {inside.text} ELSE FALSE END",
        (*there.values, *text.values, *inside.values),
    )


def _compares(there: _JsonValue, op: str, value: Any) -> SqlClause:
    if isinstance(value, str):
        return SqlClause(
            f"({there.kind} = 'text' AND {there.content} {_ORDER[op]} ?)",
            (*there.values, *there.values, str(value)),
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return there.compare_numbers(f"{_ORDER[op]} ?", value)
    raise InputError(
        f"{value!r:.100} has no order.", hint="gt, gte, lt and lte compare numbers or texts."
    )


def _negate(part: SqlClause) -> SqlClause:
    return SqlClause(f"NOT {part.text}", part.values)


def _json_path(name: str) -> str:
    keys = name.split(".")
    if (
        len(name) > _LONGEST
        or not all(keys)
        or any(char in '"\\' or not char.isprintable() for char in name)
    ):
        raise InputError(
            f"{name!r:.100} cannot name a metadata field.",
            hint="Join keys by dots; no quotes, backslashes or control characters.",
        )
    return "$" + "".join(f'."{key}"' for key in keys)
