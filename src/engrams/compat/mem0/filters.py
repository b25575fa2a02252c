"""Translate mem0 filters into conditions, and find the part of memory that they name.

`find_target` is the entry. mem0 names a part of memory by four ids (user, agent, app, run), as
fields of a request or inside its filters; here they are the labels of a scope.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Request

from engrams.core import Scope
from engrams.core.clock import parse_time
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.surfaces.http.caller import find_caller, user_scope

LABELS = {"user_id": "user", "agent_id": "agent", "app_id": "project", "run_id": "conversation"}
_MAX_DEPTH = 8
"""Levels of nested filters."""
_MAX_PRINTED_CHARS = 10_000
"""Length of a printed Python dict that is parsed."""
_FIELDS = {
    "created_at": "recorded_at",
    "updated_at": "recorded_at",
    "timestamp": "recorded_at",
    "categories": "tags",
    "memory_ids": "id",
}
_OPS: dict[str, Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains"]] = {
    "eq": "eq",
    "ne": "ne",
    "in": "in",
    "nin": "nin",
    "gt": "gt",
    "gte": "gte",
    "lt": "lt",
    "lte": "lte",
    "contains": "contains",
    "icontains": "contains",
}
_TIMES = ("recorded_at",)


@dataclass(frozen=True, slots=True)
class Mem0ScopeFilter:
    """Part of one owner's memory that a request concerns."""

    engine: MemoryEngine
    owner: Scope
    scope: Scope
    """Scope that writes go to."""

    where: Where | None
    """Conditions that limit reads; None: all of the owner's memory."""


def find_target(
    request: Request, ids: Mapping[str, str], filters: Mapping[str, Any] | None = None
) -> Mem0ScopeFilter:
    """Find the part of the caller's memory that ids and filters name.

    mem0 clients name no user where they name a memory by its id, so their users are parts of one
    owner's memory, with a key and without. InputError: the filters name several users, or something
    unknown.
    """
    tree = dict(filters or {})
    named_ids = {**_find_ids(tree, 0), **ids}
    caller = find_caller(request, "")
    user = user_scope(caller.owner, named_ids.get("user_id", ""))
    scope = user
    for name in ("agent_id", "app_id", "run_id"):
        if named_ids.get(name):
            scope = scope.within(LABELS[name], named_ids[name])
    id_conditions = _IdConditions(caller.engine, caller.owner, frozenset(named_ids.items()))
    conditions = [
        *_scope_conditions(caller.engine, caller.owner, user, named_ids),
        *_to_conditions(tree, 0, id_conditions),
    ]
    where = Where("and", tuple(conditions)) if conditions else None
    return Mem0ScopeFilter(caller.engine, caller.owner, scope, where)


def require_part(ids: Mapping[str, str], filters: Mapping[str, Any] | None) -> None:
    """Check that a read names a user, agent, app or run, anywhere in its filters.

    InputError: it names none, and would return everybody's memories.
    """
    if not ids and not _names_part(filters or {}, 0):
        raise InputError(
            "The filters name no user, agent, app or run.",
            hint='Give {"user_id": "ann"}; {"user_id": "*"} stands for all users.',
        )


def _names_part(tree: Mapping[str, Any], depth: int) -> bool:
    """Return True if an id stands anywhere in a tree of filters."""
    return any(
        name in LABELS
        or (
            name in ("AND", "OR", "NOT")
            and any(
                _names_part(_require_object(clause), depth + 1)
                for clause in (value if isinstance(value, list) else [value])
            )
        )
        for name, value in _filter_items(tree, depth)
    )


@dataclass(frozen=True, slots=True)
class _IdConditions:
    """Conditions for user, agent, app and run ids inside of filters."""

    engine: MemoryEngine
    owner: Scope
    applied: frozenset[tuple[str, str]]
    """Names and ids that limit everything already."""

    def match(self, name: str, value: Any) -> Iterator[Condition | Where]:
        """Yield the conditions that match an id, or any of several."""
        if isinstance(value, Mapping):
            value = value.get("eq") or value.get("in")
        ids = [
            str(member)
            for member in (value if isinstance(value, list) else [value])
            if member not in (None, "", "*")
        ]
        if not ids or (len(ids) == 1 and (name, ids[0]) in self.applied):
            return
        conditions = [condition for id in ids for condition in self._match_id(name, id)]
        # A user that is the owner has everything, and so no condition: then none limits the others.
        if len(conditions) == len(ids):
            yield Where("or", tuple(conditions))

    def _match_id(self, name: str, id: str) -> Iterator[Condition | Where]:
        if name == "user_id":
            user = user_scope(self.owner, id)
            yield from _scope_conditions(self.engine, self.owner, user, {})
        else:
            user = user_scope(self.owner, "")
            yield from _scope_conditions(self.engine, self.owner, user, {name: id})


def parse_filters(text: str) -> dict[str, Any]:
    """Parse filters of a query string: JSON or a printed Python dict."""
    if not text:
        return {}
    try:
        filters = json.loads(text)
    except (ValueError, RecursionError):
        filters = _parse_printed(text)
    if not isinstance(filters, dict):
        raise InputError("The filters are not an object.")
    return filters


def _parse_printed(text: str) -> Any:
    """Parse what Python prints for a dict, as mem0's client sends it; None: it is none."""
    if len(text) >= _MAX_PRINTED_CHARS:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _find_ids(tree: Mapping[str, Any], depth: int) -> dict[str, str]:
    """Collect ids at the top level and in parts of AND."""
    ids: dict[str, str] = {}
    for name, value in _filter_items(tree, depth):
        if name == "AND":
            for clause in value if isinstance(value, list) else [value]:
                for id_name, id in _find_ids(_require_object(clause), depth + 1).items():
                    _set_id(ids, id_name, id)
        elif name in LABELS and (id := _single_id(value)):
            _set_id(ids, name, id)
    return ids


def _set_id(ids: dict[str, str], name: str, id: str) -> None:
    if ids.setdefault(name, id) != id:
        raise InputError(f"The filters give two values for {name}.", hint="Use one at a time.")


def _single_id(value: Any) -> str:
    """Return the one id meant; empty where any will do."""
    if isinstance(value, Mapping):
        value = value.get("eq") or value.get("in")
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else ""
    return "" if value in (None, "*") else str(value)


def _scope_conditions(
    engine: MemoryEngine, owner: Scope, user: Scope, ids: Mapping[str, str]
) -> Iterator[Condition | Where]:
    """Yield conditions for the part of memory that ids name; none for a whole owner."""
    labels = [
        (LABELS[name], ids[name]) for name in ("agent_id", "app_id", "run_id") if ids.get(name)
    ]
    if labels:
        scopes = [scope.key for scope in engine.scopes(owner) if _has_labels(scope, user, labels)]
        yield Condition("scope", "in", scopes)
    elif user != owner:
        # Everything below "a/b" sorts between "a/b/" and "a/b0": "0" is the character after "/".
        below = Where(
            "and",
            (Condition("scope", "gte", f"{user.key}/"), Condition("scope", "lt", f"{user.key}0")),
        )
        yield Where("or", (Condition("scope", "eq", user.key), below))


def _has_labels(scope: Scope, user: Scope, labels: list[tuple[str, str]]) -> bool:
    """Return True for a scope below the user's that has all these labels."""
    inner = scope.labels[len(user.labels) :]
    pairs = set(zip(inner[::2], inner[1::2], strict=False))
    return scope.labels[: len(user.labels)] == user.labels and pairs.issuperset(labels)


def _to_conditions(
    tree: Mapping[str, Any], depth: int, id_conditions: _IdConditions
) -> Iterator[Condition | Where]:
    for name, value in _filter_items(tree, depth):
        match name:
            case "AND" | "OR" | "NOT":
                clauses = [
                    list(_to_conditions(_require_object(clause), depth + 1, id_conditions))
                    for clause in (value if isinstance(value, list) else [value])
                ]
                yield from _combine(name, clauses)
            case "metadata":
                for key, member in _require_object(value).items():
                    yield from _field_conditions(f"meta.{key}", member)
            case "keywords":
                yield from _field_conditions("text", value)
            case _ if name in LABELS:
                yield from id_conditions.match(name, value)
            case _:
                yield from _field_conditions(_FIELDS.get(name, f"meta.{name}"), value)


def _combine(
    operator: Literal["AND", "OR", "NOT"], clauses: list[list[Condition | Where]]
) -> Iterator[Where]:
    """Yield the one condition that clauses make; none where they limit nothing."""
    if operator == "OR" and not all(clauses):
        return
    parts = tuple(Where("and", tuple(conditions)) for conditions in clauses if conditions)
    if not parts:
        return
    match operator:
        case "AND":
            yield Where("and", parts)
        case "OR":
            yield Where("or", parts)
        case "NOT":
            yield Where("not", (Where("or", parts),))


def _field_conditions(field: str, value: Any) -> Iterator[Condition]:
    """Yield conditions of one field.

    ``{"gte": 1, "lt": 5}`` gives two, a plain value equality, ``*`` existence.
    """
    if value == "*":
        yield Condition(field, "exists", True)
    elif isinstance(value, Mapping):
        for operator, operand in value.items():
            if operator not in _OPS:
                raise InputError(
                    f"There is no operator {str(operator)[:40]!r}.",
                    hint=f"Operators: {', '.join(_OPS)}.",
                )
            yield Condition(field, _OPS[operator], _condition_value(field, operand))
    elif field == "tags":
        yield Condition(field, "contains", value)
    elif isinstance(value, list):
        yield Condition(field, "in", value)
    else:
        yield Condition(field, "eq", _condition_value(field, value))


def _condition_value(field: str, value: Any) -> Any:
    if field not in _TIMES:
        return value
    try:
        return parse_time(str(value))
    except (ValueError, OverflowError):
        raise InputError("A time is needed, such as 2025-01-31.") from None


def _filter_items(tree: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _MAX_DEPTH:
        raise InputError(f"The filters are nested deeper than {_MAX_DEPTH} levels.")
    yield from (
        (name.upper() if name.upper() in ("AND", "OR", "NOT") else name, value)
        for name, value in tree.items()
    )


def _require_object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError("The filters are not an object.")
    return value
