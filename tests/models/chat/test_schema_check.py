"""The schema check."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from engrams.models.chat.openai import is_strict
from engrams.models.chat.schema_check import check


@pytest.mark.parametrize(
    ("data", "schema", "complaints"),
    [
        ("a", {"type": "string"}, []),
        (1, {"type": "string"}, ["$ must be a string, not a whole number"]),
        (True, {"type": "integer"}, ["$ must be a whole number, not true or false"]),
        (1.0, {"type": "integer"}, ["$ must be a whole number, not a number with a fraction"]),
        (1, {"type": "number"}, []),
        (float("nan"), {"type": "number"}, ["$ must be a number, not a number out of range"]),
        (None, {"type": ["string", "null"]}, []),
        (3, {"type": ["string", "null"]}, ["$ must be a string or null, not a whole number"]),
        ("c", {"enum": ["a", "b"]}, ["$ must be one of 'a', 'b'"]),
        (True, {"enum": [1]}, ["$ must be one of 1"]),
        (2, {"const": 1}, ["$ must be 1"]),
        ({}, {"type": "object", "required": ["a", "b"]}, ["$ lacks 'a'", "$ lacks 'b'"]),
        (
            {"a": 1},
            {"properties": {"a": {"type": "string"}}},
            ["$.a must be a string, not a whole number"],
        ),
        (
            {"x": 1},
            {"properties": {"a": {}}, "additionalProperties": False},
            ["$ has a property other than 'a'"],
        ),
        (
            {"x": 1},
            {"additionalProperties": {"type": "string"}},
            ["$.* must be a string, not a whole number"],
        ),
        ({"x": 1}, {"properties": {"a": {}}}, []),
        ([1, "b"], {"items": {"type": "integer"}}, ["$[1] must be a whole number, not a string"]),
        ([], {"type": "array", "minItems": 1}, ["the number of items in $ must be at least 1"]),
        ([1, 2], {"maxItems": 1}, ["the number of items in $ must be at most 1"]),
        (0, {"minimum": 1}, ["$ must be at least 1"]),
        (9, {"maximum": 3}, ["$ must be at most 3"]),
        (1, {"exclusiveMinimum": 1}, ["$ must be more than 1"]),
        (1, {"exclusiveMaximum": 1}, ["$ must be less than 1"]),
        ("", {"minLength": 1}, ["the length of $ must be at least 1"]),
        ("abc", {"maxLength": 2}, ["the length of $ must be at most 2"]),
        (
            1,
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            ["$ must be a string, not a whole number"],
        ),
        (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, []),
        (
            "x",
            {"allOf": [{"minLength": 2}, {"maxLength": 3}]},
            ["the length of $ must be at least 2"],
        ),
        (
            {"a": [{"b": "x"}]},
            {
                "$ref": "#/$defs/T",
                "$defs": {
                    "T": {"properties": {"a": {"items": {"$ref": "#/$defs/U"}}}},
                    "U": {"properties": {"b": {"type": "null"}}},
                },
            },
            ["$.a[0].b must be null, not a string"],
        ),
        ({"a": 1}, {}, []),
        ("x", False, []),
    ],
)
def test_each_keyword(data: Any, schema: Any, complaints: list[str]) -> None:
    """Each keyword accepts what it should and names the place and the rule of what it should not."""
    assert check(data, schema if schema is not False else {"anyOf": [True]}) == complaints


class _Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1)
    score: float = Field(ge=0, le=1)
    parent: _Item | None = None


class _Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[_Item]


def test_a_pydantic_schema_is_understood() -> None:
    """The schema of a nested, recursive pydantic model accepts its own data and finds a wrong value
    deep inside.
    """
    schema = _Whole.model_json_schema()
    good = _Whole(items=[_Item(text="a", score=0.5, parent=_Item(text="b", score=1))]).model_dump()
    assert check(good, schema) == []
    good["items"][0]["parent"]["score"] = 2
    assert check(good, schema) == ["$.items[0].parent.score must be at most 1"]


def test_complaints_never_quote_the_data() -> None:
    """No text of the data stands in a complaint: they go into logs and job errors."""
    secret = "my PIN is 4711"
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x"]}, "b": {"maxLength": 3}},
        "additionalProperties": False,
    }
    found = check({"a": secret, "b": secret, secret: secret}, schema)
    found += check(
        {secret: {secret: 1}},
        {"additionalProperties": {"additionalProperties": {"type": "string"}}},
    )
    assert len(found) == 4
    assert not any("4711" in complaint for complaint in found)


def test_complaints_are_few_and_the_search_ends() -> None:
    """A long list of errors is cut to eight, and a schema that refers to itself ends the search."""
    assert len(check([1] * 1000, {"items": {"type": "string"}})) == 8
    assert check({}, {"$ref": "#"}) == ["$ is nested too deeply"]


def test_what_openai_calls_strict() -> None:
    """A schema is strict when all its objects are closed and require everything."""
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert is_strict(closed)
    assert is_strict({**closed, "properties": {"a": {"type": "array", "items": closed}}})
    assert not is_strict({**closed, "required": []})
    assert not is_strict(
        {**closed, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}
    )
    assert not is_strict({**closed, "$defs": {"X": {"type": "object"}}})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(ANY)
def test_no_data_makes_it_raise(data: Any) -> None:
    """Any JSON-like value is judged."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"items": {"enum": ["x"]}}},
        "required": ["a"],
    }
    assert isinstance(check(data, schema), list)
