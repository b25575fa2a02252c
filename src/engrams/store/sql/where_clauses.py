"""SQL clauses for conditions and scopes, with bound values.

Enter at ``where_clause`` for a filter, ``reach_clause`` for scopes, ``as_of_clause`` for a point in
time. A caller's text is always a bound value, never a part of the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

from engrams.core import MEMORY_ROLE, Kind, Layer, Scope
from engrams.core.clock import micros, parse_time
from engrams.errors import InputError, ScopeError
from engrams.frozen_data import dataclass
from engrams.ports import AsOf, Condition, ScopeReach, Where
from engrams.store.sql.named_queries import query
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
_GIVEN = "SELECT value FROM json_each(?)"
"""Values of a bound list."""
_STORED = "SELECT value FROM json_each({})"
"""Values of a list in a column."""
_LISTED = f"({_GIVEN})"
_LISTED_NUMBERS = "(SELECT CAST(value AS NUMERIC) FROM json_each(?))"
_ITEMS = "SELECT 1 FROM json_each({}, ?) AS item"
_MAX_DEPTH = 16
_MAX_CONDITIONS = 200
_MAX_PATH = 500
"""Characters of a path into JSON."""

_EXPRESSIONS = {
    "role": f"CASE WHEN layer <> '{Layer.EPISODIC}' THEN '{MEMORY_ROLE}' ELSE role END",
    "summary_kind": f"CASE WHEN kind = '{Kind.SUMMARY}' THEN category ELSE '' END",
}
"""Fields of a memory's file that no column holds alone, as expressions over columns: what is no
message has the role ``memory``, whoever said it."""
_TEXT_FIELDS = frozenset({*TEXTS, *LONG_TEXTS, *ENUMS, *_EXPRESSIONS, "scope"})
_NUMBER_FIELDS = frozenset({*REALS, *WHOLES})
_JSON_FIELDS = ("meta", "provenance")
_OTHER_NAMES = {
    "created_at": "recorded_at",
    "replaced_by": "superseded_by",
}
"""Names of fields in a memory's file, where they differ."""
_CONVERSATION_ID = "conversation_id"
_TAUGHT = "taught"
KNOWN = (
    *sorted((*_TEXT_FIELDS, *_NUMBER_FIELDS, *TIMES, *LISTS)),
    _TAUGHT,
    "meta.<name>",
    "provenance.<name>",
)


@dataclass(frozen=True, slots=True)
class SqlClause:
    """Part of a WHERE with its bound values; empty text: no condition."""

    text: str = ""
    values: tuple[Any, ...] = ()


def join_clauses(clauses: Iterable[SqlClause], word: Literal["AND", "OR"] = "AND") -> SqlClause:
    """Join non-empty clauses, in brackets if several."""
    non_empty = [*filter(attrgetter("text"), clauses)]
    text = f" {word} ".join(map(attrgetter("text"), non_empty))
    values = tuple(chain.from_iterable(map(attrgetter("values"), non_empty)))
    return SqlClause(f"({text})" if len(non_empty) > 1 else text, values)


def reach_clause(reach: ScopeReach) -> SqlClause:
    """Restrict to the owner and the scopes of the reach."""
    owner = SqlClause("owner = ?", (reach.owner.key,))
    keys = [*map(attrgetter("key"), reach.scopes)]
    if len(keys) > _MAX_CONDITIONS:
        raise InputError(
            f"A read sees at most {_MAX_CONDITIONS} scopes, not {len(keys)}.",
            hint="Read a scope above them with everything below it.",
        )
    if reach.tree and reach.owner.key in keys:
        return owner
    if keys:
        exact = SqlClause(f"scope IN ({', '.join('?' * len(keys))})", tuple(keys))
    else:
        exact = SqlClause("FALSE")
    below = []
    if reach.tree:
        # Everything below "a/b" sorts between "a/b/" and "a/b0": "0" is the character after "/".
        below = [SqlClause("(scope >= ? AND scope < ?)", (f"{key}/", f"{key}0")) for key in keys]
    return join_clauses([owner, join_clauses([exact, *below], "OR")])


def as_of_clause(point: AsOf, now: datetime) -> SqlClause:
    """Restrict to records true at one time, as known at another."""
    valid_at = micros(point.valid or now)
    known_at = micros(point.known or now)
    return SqlClause(
        "(status IN ('active', 'superseded', 'archived') AND (valid_from IS NULL OR valid_from <="
        " ?) AND (valid_to IS NULL OR ? < valid_to OR (ended_at IS NOT NULL AND ? < ended_at)) AND"
        " recorded_at <= ? AND (retired_at IS NULL OR ? < retired_at))",
        # An end that was told later than the point of knowledge was not known there.
        (valid_at, valid_at, known_at, known_at, known_at),
    )


def where_clause(where: Where | None) -> SqlClause:
    """Compile a filter; empty without conditions.

    InputError names an unknown field or operator and the known ones.
    """
    return SqlClause() if where is None else _FilterCompiler().compile(where)


class _FilterCompiler:
    """Compiler of one filter; used once, as it counts the conditions."""

    def __init__(self) -> None:
        self._count = 0

    def compile(self, where: Where | Condition, depth: int = 0) -> SqlClause:
        self._count += 1
        if depth > _MAX_DEPTH or self._count > _MAX_CONDITIONS:
            raise InputError(
                f"The filter is too large: at most {_MAX_CONDITIONS} conditions, {_MAX_DEPTH} deep."
            )
        if isinstance(where, Condition):
            return _compile_condition(where)
        clauses = [self.compile(item, depth + 1) for item in where.parts]
        match where.op:
            case "and":
                return join_clauses(clauses)
            case "or":
                return join_clauses(clauses, "OR")
            case "not":
                inner = join_clauses(clauses)
                return SqlClause(f"NOT ({inner.text})", inner.values) if inner.text else inner
            case _:
                raise InputError(
                    f"Conditions cannot be joined by {where.op!r}.", hint="Use and, or, not."
                )


def _compile_condition(condition: Condition) -> SqlClause:
    name = _OTHER_NAMES.get(str(condition.field), str(condition.field))
    op = condition.op
    value = condition.value
    if op not in OPERATORS:
        raise InputError(
            f"There is no operator {op!r}.", hint=f"Operators: {', '.join(OPERATORS)}."
        )
    column, _, path = name.partition(".")
    if path and column in _JSON_FIELDS:
        return _json_clause(column, _json_path(path), op, value)
    if name == _CONVERSATION_ID:
        return _conversation_clause(op, value)
    if name == _TAUGHT:
        return _taught_clause(op, value)
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
    column = _EXPRESSIONS.get(name, name)
    match op:
        case "exists":
            if name in TIMES:
                has_value = f"{column} IS NOT NULL"
            elif name in _TEXT_FIELDS:
                has_value = f"{column} <> ''"
            else:
                has_value = "TRUE"
            return _exists_clause(has_value, value)
        case "contains":
            if name not in _TEXT_FIELDS:
                raise InputError(
                    f"{name} is neither a text nor a list.",
                    hint="contains looks into texts and lists.",
                )
            return SqlClause(f"instr({column}, ?) > 0", (_require_text(value),))
        case "eq":
            return SqlClause(f"{column} IS NOT DISTINCT FROM ?", (_column_value(name, value),))
        case "ne":
            return SqlClause(f"{column} IS DISTINCT FROM ?", (_column_value(name, value),))
        case "in" | "nin":
            values = [_column_value(name, item) for item in _require_list(value)]
            listed = _LISTED if name in _TEXT_FIELDS else _LISTED_NUMBERS
            is_listed = f"coalesce({column} IN {listed}, FALSE)"
            return SqlClause(
                is_listed if op == "in" else f"NOT {is_listed}", (encode_json(values),)
            )
        case _:
            comparison = f"{column} {_ORDER[op]} ?"
            if name in TIMES:
                comparison = f"coalesce({comparison}, FALSE)"
            return SqlClause(comparison, (_column_value(name, value),))


def _conversation_clause(op: str, value: Any) -> SqlClause:
    """Compare the conversation that a scope ends with, whoever owns it."""
    match op:
        case "eq" | "ne":
            ending = Scope(("conversation", _require_text(value))).key
            sign = ">" if op == "eq" else "="
            return SqlClause(f"instr(scope || '|', ?) {sign} 0", (f"/{ending}|",))
        case "in":
            clauses = [
                _conversation_clause("eq", conversation) for conversation in _require_list(value)
            ]
            return join_clauses(clauses, "OR") if clauses else SqlClause("FALSE")
        case "nin":
            clauses = [
                _conversation_clause("ne", conversation) for conversation in _require_list(value)
            ]
            return join_clauses(clauses)
        case "exists":
            return _exists_clause("instr(scope, '/conversation/') > 0", value)
        case _:
            raise InputError(
                f"{_CONVERSATION_ID} cannot be compared by {op}.",
                hint="Use eq, ne, in, nin or exists.",
            )


def _taught_clause(op: str, value: Any) -> SqlClause:
    """Compare whether a statement that was learned from a record stands for it."""
    if op not in ("eq", "ne") or not isinstance(value, bool):
        raise InputError(f"{_TAUGHT} is true or false.", hint="Use eq or ne with true or false.")
    is_taught = query("is_taught")
    return SqlClause(is_taught if value is (op == "eq") else f"NOT {is_taught}")


def _list_clause(name: str, op: str, value: Any) -> SqlClause:
    match op:
        case "exists":
            return _exists_clause(f"{name} <> '[]'", value)
        case "eq" | "ne":
            values = encode_json([_require_text(item) for item in _require_list(value)])
            return SqlClause(f"{name} {'=' if op == 'eq' else '<>'} ?", (values,))
        case "contains" | "in" | "nin":
            items = [value] if isinstance(value, str) else _require_list(value)
            listed = encode_json([_require_text(item) for item in items])
            stored = _STORED.format(name)
            if op == "contains":
                return SqlClause(f"NOT EXISTS ({_GIVEN} EXCEPT {stored})", (listed,))
            has_any = f"EXISTS ({_GIVEN} INTERSECT {stored})"
            return SqlClause(has_any if op == "in" else f"NOT {has_any}", (listed,))
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
            raise InputError(f"{name} is a number, and {value!r:.100} is not.")
        return value
    if name == "scope" and not isinstance(value, str):
        return _scope_key(value)
    return _require_text(value)


def _scope_key(value: Any) -> str:
    labels = value.labels if isinstance(value, Scope) else value
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"{value!r:.100} is not a scope.",
            hint="Give its key as a text, or its labels as a list of texts.",
        )
    try:
        return (value if isinstance(value, Scope) else Scope.of(labels)).key
    except ScopeError as problem:
        raise InputError(f"{value!r:.100} is not a scope.", hint=problem.hint) from None


def _time_micros(value: Any) -> int:
    if isinstance(value, str):
        try:
            value = parse_time(value)
        except ValueError:
            raise InputError(
                f"{value!r:.100} is not a time.",
                hint="Write it as ISO 8601: 2025-05-01T12:00:00+00:00.",
            ) from None
    if not isinstance(value, datetime):
        raise InputError(
            f"{value!r:.100} is not a time.", hint="Give a datetime or an ISO 8601 text."
        )
    return micros(value)


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r:.100} is not text.")
    return str(value)


def _exists_clause(test: str, value: Any, *values: Any) -> SqlClause:
    """Return the SQL test of an ``exists`` condition, negated where its value is false."""
    if not isinstance(value, bool):
        raise InputError("exists takes true or false.")
    return SqlClause(f"({test})" if value else f"NOT ({test})", values)


def _require_list(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    raise InputError(f"A list is needed, not {value!r:.100}.")


# --------------------------------------------------------------------------------------------------
# JSON


@dataclass(frozen=True, slots=True)
class _JsonValue:
    """SQL for type and content of a JSON value, with the values that each of them binds."""

    kind: str
    """SQL that gives its type: text, integer, real, true, false, null, array, object."""
    content: str
    """SQL that gives its content."""
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
    stored = _JsonValue(
        f"coalesce(json_type({column}, ?), 'null')", f"json_extract({column}, ?)", (path,)
    )
    match op:
        case "exists":
            return _exists_clause(f"json_type({column}, ?) IS NOT NULL", value, path)
        case "eq":
            return _equals(stored, value)
        case "ne":
            return _negate(_equals(stored, value))
        case "in" | "nin":
            is_listed = _is_in(stored, _require_list(value))
            return is_listed if op == "in" else _negate(is_listed)
        case "contains":
            return _contains(column, stored, path, value)
        case _:
            return _compares(stored, op, value)


def _equals(stored: _JsonValue, value: Any) -> SqlClause:
    match value:
        case None:
            return SqlClause(f"{stored.kind} = 'null'", stored.values)
        case True | False:
            return SqlClause(f"{stored.kind} = '{'true' if value else 'false'}'", stored.values)
        case int() | float():
            return stored.compare_numbers("= ?", value)
        case str():
            return SqlClause(
                f"({stored.kind} = 'text' AND {stored.content} = ?)",
                (*stored.values, *stored.values, str(value)),
            )
        case _:
            kind = "array" if isinstance(value, list | tuple) else "object"
            return SqlClause(
                f"({stored.kind} = '{kind}' AND {stored.content} = ?)",
                (*stored.values, *stored.values, encode_json(value)),
            )


def _is_in(stored: _JsonValue, values: Sequence[Any]) -> SqlClause:
    # SQLite bounds the number of conditions in one expression.
    texts = [value for value in values if isinstance(value, str)]
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    structures = [
        value for value in values if value is None or isinstance(value, bool | list | tuple | dict)
    ]
    if len(structures) > _MAX_CONDITIONS:
        raise InputError(
            f"A list of more than {_MAX_CONDITIONS} lists or maps cannot be looked up."
        )
    clauses = [_equals(stored, value) for value in structures]
    if texts:
        clauses.append(
            SqlClause(
                f"({stored.kind} = 'text' AND {stored.content} IN {_LISTED})",
                (*stored.values, *stored.values, encode_json(texts)),
            )
        )
    if numbers:
        clauses.append(stored.compare_numbers(f"IN {_LISTED_NUMBERS}", encode_json(numbers)))
    return join_clauses(clauses, "OR") if clauses else SqlClause("FALSE")


def _contains(column: str, stored: _JsonValue, path: str, value: Any) -> SqlClause:
    item = _equals(_JsonValue("item.type", "item.value"), value)
    inside = SqlClause(
        f"WHEN 'array' THEN EXISTS ({_ITEMS.format(column)} WHERE {item.text})",
        (path, *item.values),
    )
    text = (
        SqlClause(f"WHEN 'text' THEN instr({stored.content}, ?) > 0", (*stored.values, str(value)))
        if isinstance(value, str)
        else SqlClause()
    )
    return SqlClause(
        f"CASE {stored.kind} {text.text} {inside.text} ELSE FALSE END",
        (*stored.values, *text.values, *inside.values),
    )


def _compares(stored: _JsonValue, op: str, value: Any) -> SqlClause:
    if isinstance(value, str):
        return SqlClause(
            f"({stored.kind} = 'text' AND {stored.content} {_ORDER[op]} ?)",
            (*stored.values, *stored.values, str(value)),
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return stored.compare_numbers(f"{_ORDER[op]} ?", value)
    raise InputError(
        f"{value!r:.100} has no order.", hint="gt, gte, lt and lte compare numbers or texts."
    )


def _negate(clause: SqlClause) -> SqlClause:
    return SqlClause(f"NOT {clause.text}", clause.values)


def _json_path(name: str) -> str:
    keys = name.split(".")
    if (
        len(name) > _MAX_PATH
        or not all(keys)
        or any(char in '"\\' or not char.isprintable() for char in name)
    ):
        raise InputError(
            f"{name!r:.100} cannot name a metadata field.",
            hint="Join keys by dots; no quotes, backslashes or control characters.",
        )
    return "$" + "".join(f'."{key}"' for key in keys)
