"""The smallest JSON that satisfies a schema, and JSON spoiled on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engrams.types import Json

_ACTIONS = ("action", "verdict", "event", "operation", "op", "decision")
_REMOVALS = ("remove", "delete", "drop", "discard")
_NOBODYS = 999_999
_DEEPEST = 16


def sample_value(schema: Mapping[str, Json], text: str = "") -> Any:
    """A deterministic value that satisfies a schema: required properties, first alternatives, least numbers; strings say ``text``."""
    return _build_sample(schema, text, schema, 0)


def _build_sample(schema: Json, text: str, root: Mapping[str, Json], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    if "$ref" in schema:
        node: Json = root
        for name in str(schema["$ref"]).split("/")[1:]:
            node = node[name]
        return _build_sample(node, text, root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "anyOf", "oneOf"):
        if schema.get(word):
            first = schema[word][0]
            return first if word == "enum" else _build_sample(first, text, root, depth + 1)
    return _sample_by_type(schema, text, root, depth)


def _sample_by_type(schema: Mapping[str, Json], text: str, root: Mapping[str, Json], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: _build_sample(properties.get(name, {}), text, root, depth + 1) for name in schema.get("required", ())}
        case "array":
            return [_build_sample(schema.get("items", {}), text, root, depth + 1) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", min(0, schema.get("maximum", 0)))
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return (text or "text")[: schema.get("maxLength", 200)].ljust(schema.get("minLength", 0), ".")


def spoil_text(text: str, kind: str, schema: Mapping[str, Json] | None) -> str:
    """The model's answer with a fault of this kind in it; text that is no JSON is spoiled as text."""
    match kind:
        case "bad_json":
            return "Certainly { the answer would be :: [ as I said, } but"
        case "sloppy":
            return _write_sloppy(text)
        case "fenced":
            return f"```json\n{text}\n```"
        case "prose":
            return f"Sure! Here is what you asked for [as JSON]:\n\n{text}\n\nLet me know {{anytime}} if you need more."
        case "thinking":
            return f'<think>\nPerhaps {{"facts": ["not this"], "ids": [1]}}? No.\n</think>\n\n{text}'
        case "truncated":
            return text[: len(text) * 2 // 3]
        case "empty":
            return ""
        case "wrong_ids":
            return _map_values(text, _replace_id)
        case "deletes_only":
            words = {word for word in _all_strings(schema) if word.lower() in _REMOVALS}
            removal = min(words, default="remove")
            return _map_values(text, lambda key, value: removal if key in _ACTIONS and isinstance(value, str) else value)
        case _:
            return text


def _replace_id(key: str, value: Json) -> Json:
    if not (key in ("id", "ids", "target", "targets", "replaces") or key.endswith(("_id", "_ids"))):
        return value
    if isinstance(value, list):
        return [_NOBODYS if isinstance(item, int) else "nobodys" for item in value] or [_NOBODYS]
    return _NOBODYS if isinstance(value, int) else "nobodys"


def _map_values(text: str, change: Any) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return text

    def walk(value: Json, key: str) -> Json:
        value = change(key, value)
        if isinstance(value, dict):
            return {name: walk(inner, name) for name, inner in value.items()}
        return [walk(inner, "") for inner in value] if isinstance(value, list) else value

    return json.dumps(walk(data, ""), ensure_ascii=False)


def _write_sloppy(text: str) -> str:
    """As some models write JSON: Python's quotes and words, a comma too many."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    written = repr(data)
    return f"{written[:-1]},{written[-1]}" if isinstance(data, dict | list) and data else written


def _all_strings(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for value in schema.values():
            yield from _all_strings(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _all_strings(value)
    elif isinstance(schema, str):
        yield schema
