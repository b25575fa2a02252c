"""The page of the HTTP API on the site:
every operation of the server with what it takes and answers, from its OpenAPI schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tstypes import name_type, references, server_schema

HEAD = """# HTTP API

This page is generated from the schema that a server gives at `/openapi.json`. How to use it: [HTTP](../guides/rest.md).

Besides its own parameters an operation may take these, where it is about somebody's memory:

{common}

What fails answers with `application/problem+json`: `title`, `status`, `detail` and a `hint`.
"""
COMMON = ("project", "conversation", "x-engrams-user")


def http_page() -> str:
    """Write the page."""
    schema = server_schema()
    operations = [
        (f"{method.upper()} {path}", each)
        for path, ways in schema["paths"].items()
        for method, each in ways.items()
    ]
    common = {
        each["name"]: each
        for _, operation in operations
        for each in operation.get("parameters", ())
        if each["name"] in COMMON
    }
    parts = [HEAD.format(common=_table(_describe_parameter(common[name]) for name in COMMON))]
    for tag in dict.fromkeys(operation["tags"][0] for _, operation in operations):
        parts.append(f"## {tag.capitalize()}\n")
        parts += [
            _describe_operation(title, each) for title, each in operations if each["tags"][0] == tag
        ]
    parts.append("## Types\n")
    parts += [_describe_type(name, each) for name, each in sorted(_list_used(schema, operations))]
    return "\n".join(parts)


def _list_used(
    schema: dict[str, Any], operations: list[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    schemas = schema["components"]["schemas"]
    seen = set[str]()
    waiting = [name for _, operation in operations for name in references(operation)]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name, schemas[name]
            waiting += references(schemas[name])


def _describe_operation(title: str, operation: dict[str, Any]) -> str:
    rows = [
        _describe_parameter(each)
        for each in operation.get("parameters", ())
        if each["name"] not in COMMON
    ]
    taken = "".join(
        f"\nTakes {kind}.\n" for kind in _list_contents(operation.get("requestBody", {}))
    )
    answers = [
        f"{status} {kind}"
        for status, each in operation["responses"].items()
        if status[0] == "2"
        for kind in _list_contents(each)
    ]
    answered = f"\nAnswers {', '.join(answers)}.\n" if answers else ""
    return f"### `{title}`\n\n{operation.get('description', '').strip()}\n{taken}{answered}" + (
        f"\n{_table(rows)}\n" if rows else ""
    )


def _list_contents(body: dict[str, Any]) -> Iterator[str]:
    """The types of a body: a link where it has a name, else its format."""
    for kind, each in body.get("content", {}).items():
        named = ", ".join(f"[{name}](#{name.lower()})" for name in references(each))
        yield (
            f"{'a list of ' if each.get('schema', {}).get('type') == 'array' else ''}{named}"
            if named
            else f"`{kind}`"
        )


def _describe_type(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    fields = schema.get("properties", {})
    said = f"{schema.get('description', '').strip()}\n\n" if schema.get("description") else ""
    rows = [
        (field + ("" if field in required else "?"), name_type(each), each.get("description", ""))
        for field, each in fields.items()
    ]
    return f"### {name}\n\n{said}" + (f"{_table(rows)}\n" if rows else f"`{name_type(schema)}`\n")


def _describe_parameter(parameter: dict[str, Any]) -> tuple[str, str, str]:
    place = {"path": "in the path", "query": "", "header": "header"}[parameter["in"]]
    kind = ", ".join(part for part in (name_type(parameter["schema"]), place) if part)
    return parameter["name"], kind, parameter.get("description", "")


def _table(rows: Any) -> str:
    cells = ((f"`{name}`", f"`{kind}`", text) for name, kind, text in rows)
    lines = [
        "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"
        for row in cells
    ]
    return "\n".join(["| name | type | meaning |", "|---|---|---|", *lines])
