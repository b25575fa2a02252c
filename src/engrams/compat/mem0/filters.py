"""Translate mem0 filters, and find the memory they name."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fastapi import Request

from engrams.core import Scope
from engrams.core.clock import parse_time
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import Condition, Where
from engrams.surfaces.http.caller import find_caller, user_scope

LABELS = {"user_id": "user", "agent_id": "agent", "app_id": "project", "run_id": "conversation"}
_DEEPEST = 8
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
    """Part of one owner's memory; ``where`` limits reads, ``scope`` takes writes."""

    engine: MemoryEngine
    owner: Scope
    scope: Scope
    where: Where | None


def find_target(
    request: Request, ids: Mapping[str, str], filters: Mapping[str, Any] | None = None
) -> Mem0ScopeFilter:
    """Find the part of the caller's memory that ids and filters name.

    mem0 clients name no user where they name a memory by its id, so their users are parts of one
    owner's memory, with a key and without. InputError: the filters name several users, or something
    unknown.
    """
    tree = dict(filters or {})
    given = {**_find_ids(tree, 0), **ids}
    caller = find_caller(request, "")
    user = scope = user_scope(caller.owner, given.get("user_id", ""))
    for name in ("agent_id", "app_id", "run_id"):
        if given.get(name):
            scope = scope.within(LABELS[name], given[name])
    places = _IdPlaces(caller.engine, caller.owner, frozenset(given.items()))
    tests = [
        *_scope_conditions(caller.engine, caller.owner, user, given),
        *_to_conditions(tree, 0, places),
    ]
    return Mem0ScopeFilter(
        caller.engine, caller.owner, scope, Where("and", tuple(tests)) if tests else None
    )


@dataclass(frozen=True, slots=True)
class _IdPlaces:
    """Places of user, agent, app and run ids in one owner's memory.

    ``given``: those that limit everything already.
    """

    engine: MemoryEngine
    owner: Scope
    given: frozenset[tuple[str, str]]

    def find(self, name: str, value: Any) -> Iterator[Condition | Where]:
        """Yield the conditions that match an id, or any of several."""
        if isinstance(value, Mapping):
            value = value.get("eq") or value.get("in")
        ids = [
            str(each)
            for each in (value if isinstance(value, list) else [value])
            if each not in (None, "", "*")
        ]
        if not ids or (len(ids) == 1 and (name, ids[0]) in self.given):
            return
        parts = [part for id in ids for part in self._find_one(name, id)]
        # A user that is the owner has everything.
        if len(parts) == len(ids):
            yield Where("or", tuple(parts))

    def _find_one(self, name: str, id: str) -> Iterator[Condition | Where]:
        user = user_scope(self.owner, id if name == "user_id" else "")
        yield from _scope_conditions(
            self.engine, self.owner, user, {} if name == "user_id" else {name: id}
        )


def parse_filters(text: str) -> dict[str, Any]:
    """Parse filters of a query string: JSON or a printed Python dict."""
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text) if len(text) < 10_000 else None
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            found = None
    if not isinstance(found, dict):
        raise InputError("The filters are no object.")
    return found


def _find_ids(tree: Mapping[str, Any], depth: int) -> dict[str, str]:
    """Collect ids at the top level and in parts of AND."""
    found: dict[str, str] = {}
    for name, value in _filter_items(tree, depth):
        if name == "AND":
            for each in value if isinstance(value, list) else [value]:
                for key, id in _find_ids(_require_object(each), depth + 1).items():
                    _set_id(found, key, id)
        elif name in LABELS and (id := _single_id(value)):
            _set_id(found, name, id)
    return found


def _set_id(found: dict[str, str], name: str, id: str) -> None:
    if found.setdefault(name, id) != id:
        raise InputError(f"The filters name two of {name}.", hint="Ask for one at a time.")


def _single_id(value: Any) -> str:
    """Return the one id meant; empty where any will do."""
    if isinstance(value, Mapping):
        value = value.get("eq") or value.get("in")
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else ""
    return "" if value in (None, "*") else str(value)


def _scope_conditions(
    engine: MemoryEngine, owner: Scope, user: Scope, given: Mapping[str, str]
) -> Iterator[Condition | Where]:
    """Yield conditions for every part named; none for a whole owner."""
    wanted = [
        (LABELS[name], given[name]) for name in ("agent_id", "app_id", "run_id") if given.get(name)
    ]
    if wanted:
        yield Condition(
            "scope",
            "in",
            [scope.key for scope in engine.scopes(owner) if _has_labels(scope, user, wanted)],
        )
    elif user != owner:
        # Everything below "a/b" sorts between "a/b/" and "a/b0": "0" is the character after "/".
        under = Where(
            "and",
            (Condition("scope", "gte", f"{user.key}/"), Condition("scope", "lt", f"{user.key}0")),
        )
        yield Where("or", (Condition("scope", "eq", user.key), under))


def _has_labels(scope: Scope, user: Scope, wanted: list[tuple[str, str]]) -> bool:
    rest = scope.labels[len(user.labels) :]
    pairs = set(zip(rest[::2], rest[1::2], strict=False))
    return scope.labels[: len(user.labels)] == user.labels and pairs.issuperset(wanted)


def _to_conditions(
    tree: Mapping[str, Any], depth: int, places: _IdPlaces
) -> Iterator[Condition | Where]:
    for name, value in _filter_items(tree, depth):
        match name:
            case "AND" | "OR" | "NOT":
                given = value if isinstance(value, list) else [value]
                parts = [
                    list(_to_conditions(_require_object(each), depth + 1, places)) for each in given
                ]
                if name == "OR" and not all(parts):
                    continue
                kept = tuple(Where("and", tuple(each)) for each in parts if each)
                if kept:
                    yield (
                        Where("not", (Where("or", kept),))
                        if name == "NOT"
                        else Where("and" if name == "AND" else "or", kept)
                    )
            case "metadata":
                for key, held in _require_object(value).items():
                    yield from _field_conditions(f"meta.{key}", held)
            case "keywords":
                yield from _field_conditions("text", value)
            case _ if name in LABELS:
                yield from places.find(name, value)
            case _:
                yield from _field_conditions(_FIELDS.get(name, f"meta.{name}"), value)


def _field_conditions(field: str, value: Any) -> Iterator[Condition]:
    """Yield conditions of one field.

    ``{"gte": 1, "lt": 5}`` gives two, a plain value equality, ``*`` existence.
    """
    if value == "*":
        yield Condition(field, "exists", True)
    elif isinstance(value, Mapping):
        for op, wanted in value.items():
            if op not in _OPS:
                raise InputError(
                    f"There is no operator {str(op)[:40]!r}.", hint=f"Operators: {', '.join(_OPS)}."
                )
            yield Condition(field, _OPS[op], _condition_value(field, wanted))
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
    if depth > _DEEPEST:
        raise InputError(f"The filters are nested deeper than {_DEEPEST} levels.")
    yield from (
        (name.upper() if name.upper() in ("AND", "OR", "NOT") else name, value)
        for name, value in tree.items()
    )


def _require_object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError("The filters are no object.")
    return value
