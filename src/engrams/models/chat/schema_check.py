"""Check data against a small JSON schema dialect.

Own code instead of the ``jsonschema`` package: that one brings four more packages and a compiled
extension for a dozen keywords, and its messages quote the offending value, which here is somebody's
memory. These messages name only places and what the schema says; a model can act on them and a log
may hold them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from engrams.core import Json

_DEEPEST = 64
_MOST = 8
_Problems = Iterator[str]


_KINDS: dict[str, Callable[[Json], bool]] = {
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
_NAMES = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
}


def check(data: Json, schema: Mapping[str, Json]) -> list[str]:
    """List at most 8 problems of ``data``; none quotes the data.

    Understood: type, enum, const, required, properties, additionalProperties, items, minItems,
    maxItems, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, anyOf,
    oneOf (as anyOf), allOf and local ``$ref``. Other keywords are ignored. Stricter than the
    standard in one thing: 3.0 is no integer, because callers index with it.
    """
    found: list[str] = []
    for problem in _check(data, schema, "$", schema, 0):
        found.append(problem)
        if len(found) == _MOST:
            break
    return found


def is_strict(schema: Mapping[str, Json]) -> bool:
    """Return True where OpenAI's strict mode takes the schema."""
    if isinstance(schema.get("properties"), Mapping) or schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != names
        ):
            return False
    parts: list[Json] = [schema.get("items"), *schema.get("anyOf", ())]
    for group in ("properties", "$defs", "definitions"):
        parts.extend(dict(schema.get(group, {})).values())
    return all(is_strict(part) for part in parts if isinstance(part, Mapping))


def _check(data: Json, schema: Json, path: str, root: Mapping[str, Json], depth: int) -> _Problems:
    if schema is True or not isinstance(schema, Mapping):
        if schema is False:
            yield f"{path} is not allowed"
        return
    if depth > _DEEPEST:
        yield f"{path} is nested too deeply"
        return
    if "$ref" in schema:
        yield from _check(data, _resolve(str(schema["$ref"]), root), path, root, depth + 1)
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
        if not any(_is_kind(data, kind) for kind in kinds):
            yield f"{path} must be {_join_kinds(kinds)}, not {_describe_kind(data)}"
            return
    if "enum" in schema and not any(_is_equal(data, value) for value in schema["enum"]):
        yield f"{path} must be one of {', '.join(map(repr, schema['enum']))}"
    yield from _check_branches(data, schema, path, root, depth)
    yield from _check_content(data, schema, path, root, depth)


def _check_content(
    data: Json, schema: Mapping[str, Json], path: str, root: Mapping[str, Json], depth: int
) -> _Problems:
    if "const" in schema and not _is_equal(data, schema["const"]):
        yield f"{path} must be {schema['const']!r}"
    if isinstance(data, Mapping):
        yield from _check_object(data, schema, path, root, depth)
    elif isinstance(data, list):
        yield from _check_array(data, schema, path, root, depth)
    elif isinstance(data, str):
        yield from _check_bounds(
            len(data), schema, f"the length of {path}", ("minLength", "maxLength")
        )
    elif _is_kind(data, "number"):
        yield from _check_bounds(data, schema, path, ("minimum", "maximum"))
        yield from _check_exclusive_bounds(data, schema, path)


def _check_branches(
    data: Json, schema: Mapping[str, Json], path: str, root: Mapping[str, Json], depth: int
) -> _Problems:
    for part in schema.get("allOf", ()):
        yield from _check(data, part, path, root, depth + 1)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            tried = [list(_check(data, part, path, root, depth + 1)) for part in schema[word]]
            if tried and all(tried):
                # The branch that got furthest is the one that was meant: its complaints help most.
                yield from max(tried, key=lambda problems: max(map(_depth, problems)))


def _check_object(
    data: Mapping[str, Json],
    schema: Mapping[str, Json],
    path: str,
    root: Mapping[str, Json],
    depth: int,
) -> _Problems:
    known: Mapping[str, Json] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in data:
            yield f"{path} lacks {name!r}"
    extra = schema.get("additionalProperties", True)
    for name, value in data.items():
        if name in known:
            yield from _check(value, known[name], f"{path}.{name}", root, depth + 1)
        elif extra is False:
            yield f"{path} has a property other than {', '.join(map(repr, known)) or 'none'}"
        else:
            yield from _check(value, extra, f"{path}.*", root, depth + 1)


def _check_array(
    data: list[Json], schema: Mapping[str, Json], path: str, root: Mapping[str, Json], depth: int
) -> _Problems:
    yield from _check_bounds(
        len(data), schema, f"the number of items in {path}", ("minItems", "maxItems")
    )
    if "items" in schema:
        for place, value in enumerate(data):
            yield from _check(value, schema["items"], f"{path}[{place}]", root, depth + 1)


def _check_bounds(
    value: float, schema: Mapping[str, Json], what: str, words: tuple[str, str]
) -> _Problems:
    low, high = (schema.get(word) for word in words)
    if low is not None and value < low:
        yield f"{what} must be at least {low}"
    if high is not None and value > high:
        yield f"{what} must be at most {high}"


def _check_exclusive_bounds(value: float, schema: Mapping[str, Json], path: str) -> _Problems:
    low = schema.get("exclusiveMinimum")
    high = schema.get("exclusiveMaximum")
    if low is not None and value <= low:
        yield f"{path} must be more than {low}"
    if high is not None and value >= high:
        yield f"{path} must be less than {high}"


def _is_kind(value: Json, kind: str) -> bool:
    test = _KINDS.get(kind)
    return test is None or test(value)


def _describe_kind(value: Json) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return "a number with a fraction"
    return next(
        (_NAMES.get(kind, f"an {kind}") for kind, test in _KINDS.items() if test(value)),
        "a number out of range",
    )


def _join_kinds(kinds: Sequence[str]) -> str:
    return " or ".join(_NAMES.get(kind, f"an {kind}") for kind in kinds)


def _is_equal(one: Json, other: Json) -> bool:
    return type(one) is type(other) and bool(one == other)


def _depth(problem: str) -> int:
    return problem.count(".") + problem.count("[")


def _resolve(reference: str, root: Mapping[str, Json]) -> Json:
    node: Json = root
    for name in reference.removeprefix("#").split("/")[1:]:
        node = (
            node.get(name.replace("~1", "/").replace("~0", "~"), {})
            if isinstance(node, Mapping)
            else {}
        )
    return node
