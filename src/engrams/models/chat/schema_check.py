"""Check data against a small dialect of JSON Schema; ``check`` is the entry.

Own code instead of the ``jsonschema`` package: that one brings four more packages and a compiled
extension for a dozen keywords, and its messages quote the offending value, which here is somebody's
memory. These messages name only places and what the schema says; a model can act on them and a log
may hold them.

Understood are type, enum, const, required, properties, additionalProperties, items, minItems,
maxItems, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, anyOf, oneOf
(as anyOf), allOf and local ``$ref``; other keywords are ignored. Stricter than the standard in one
thing: 3.0 is no integer, because callers index with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from engrams.core import Json

_Bound: TypeAlias = tuple[str, Callable[[Any, Any], bool], str]
"""Keyword, test that a value breaks the bound, and words for the bound."""

_MAX_DEPTH = 64
_MAX_PROBLEMS = 8
_TYPE_TESTS: dict[str, Callable[[Json], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}
_TYPE_NAMES = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
_NUMBER_BOUNDS: tuple[_Bound, ...] = (
    ("minimum", operator.lt, "at least"),
    ("maximum", operator.gt, "at most"),
    ("exclusiveMinimum", operator.le, "more than"),
    ("exclusiveMaximum", operator.ge, "less than"),
)
_LENGTH_BOUNDS: tuple[_Bound, ...] = (
    ("minLength", operator.lt, "at least"),
    ("maxLength", operator.gt, "at most"),
)
_ITEM_BOUNDS: tuple[_Bound, ...] = (
    ("minItems", operator.lt, "at least"),
    ("maxItems", operator.gt, "at most"),
)


def check(data: Json, schema: Mapping[str, Json]) -> list[str]:
    """List the first 8 problems of ``data``; none quotes the data. Empty: it is valid."""
    return list(islice(_SchemaChecker(schema).check(data, schema, "$", 0), _MAX_PROBLEMS))


class _SchemaChecker:
    """Check of one value; each method yields problems.

    ``path`` is the place of a value, such as ``$.facts[2].text``; ``depth`` bounds schemas that
    refer to themselves.
    """

    def __init__(self, root: Mapping[str, Json]) -> None:
        """Set the schema in which references are looked up."""
        self._root = root

    def check(self, data: Json, schema: Json, path: str, depth: int) -> Iterator[str]:
        """Check a value against a schema, or a part of one."""
        if schema is False:
            yield f"{path} is not allowed"
        if not isinstance(schema, Mapping):  # ``true`` allows anything
            return
        if depth > _MAX_DEPTH:
            yield f"{path} is nested too deeply"
            return
        if "$ref" in schema:
            yield from self.check(data, self._resolve(str(schema["$ref"])), path, depth + 1)
        types = schema.get("type", ())
        types = [types] if isinstance(types, str) else list(types)
        if types and not any(has_type(data, name) for name in types):
            yield f"{path} must be {_join_types(types)}, not {_describe_type(data)}"
            return
        if "enum" in schema and not any(_is_equal(data, value) for value in schema["enum"]):
            yield f"{path} must be one of {', '.join(map(repr, schema['enum']))}"
        yield from self._check_combinations(data, schema, path, depth)
        if "const" in schema and not _is_equal(data, schema["const"]):
            yield f"{path} must be {schema['const']!r}"
        if isinstance(data, Mapping):
            yield from self._check_object(data, schema, path, depth)
        elif isinstance(data, list):
            yield from self._check_array(data, schema, path, depth)
        elif isinstance(data, str):
            yield from _check_bounds(len(data), schema, f"the length of {path}", _LENGTH_BOUNDS)
        elif has_type(data, "number"):
            yield from _check_bounds(data, schema, path, _NUMBER_BOUNDS)

    def _check_combinations(
        self, data: Json, schema: Mapping[str, Json], path: str, depth: int
    ) -> Iterator[str]:
        for part in schema.get("allOf", ()):
            yield from self.check(data, part, path, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            branches = [
                list(self.check(data, branch, path, depth + 1))
                for branch in schema.get(keyword, ())
            ]
            if branches and all(branches):
                # The branch that got furthest is the one that was meant: its complaints help most.
                yield from max(branches, key=lambda problems: max(map(_path_depth, problems)))

    def _check_object(
        self, data: Mapping[str, Json], schema: Mapping[str, Json], path: str, depth: int
    ) -> Iterator[str]:
        properties: Mapping[str, Json] = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in data:
                yield f"{path} lacks {name!r}"
        other_properties = schema.get("additionalProperties", True)
        for name, value in data.items():
            if name in properties:
                yield from self.check(value, properties[name], f"{path}.{name}", depth + 1)
            elif other_properties is False:
                names = ", ".join(map(repr, properties)) or "none"
                yield f"{path} has a property other than {names}"
            else:
                # The name of such a property is data, and so is not told.
                yield from self.check(value, other_properties, f"{path}.*", depth + 1)

    def _check_array(
        self, data: list[Json], schema: Mapping[str, Json], path: str, depth: int
    ) -> Iterator[str]:
        yield from _check_bounds(len(data), schema, f"the number of items in {path}", _ITEM_BOUNDS)
        if "items" in schema:
            for index, item in enumerate(data):
                yield from self.check(item, schema["items"], f"{path}[{index}]", depth + 1)

    def _resolve(self, reference: str) -> Json:
        """Find the part of the schema that a reference such as ``#/$defs/Fact`` names."""
        node: Json = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            if not isinstance(node, Mapping):
                return {}
            node = node.get(name.replace("~1", "/").replace("~0", "~"), {})
        return node


def _check_bounds(
    value: float, schema: Mapping[str, Json], noun: str, bounds: Sequence[_Bound]
) -> Iterator[str]:
    for keyword, is_broken, words in bounds:
        bound = schema.get(keyword)
        if bound is not None and is_broken(value, bound):
            yield f"{noun} must be {words} {bound}"


def has_type(value: Json, name: str) -> bool:
    """Check for a type of JSON; an unknown type is that of anything."""
    test = _TYPE_TESTS.get(name)
    return test is None or test(value)


def _describe_type(value: Json) -> str:
    if isinstance(value, float):
        return "a number with a fraction" if math.isfinite(value) else "a number out of range"
    names = (_TYPE_NAMES[name] for name, test in _TYPE_TESTS.items() if test(value))
    return next(names, "no JSON")


def _join_types(names: Sequence[str]) -> str:
    return " or ".join(_TYPE_NAMES[name] for name in names)


def _is_equal(data: Json, value: Json) -> bool:
    """Compare as JSON does: 1 is not true."""
    return type(data) is type(value) and bool(data == value)


def _path_depth(problem: str) -> int:
    return problem.count(".") + problem.count("[")
