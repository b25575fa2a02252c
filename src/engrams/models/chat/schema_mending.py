"""Mend data that a schema refuses: types that can be converted, and list items that cannot.

Enter at ``mend``. Small models write a number as a text, null for a field that they leave out, one
word for a list of one, or a list without the object around it. None of it changes what they say, so they need not be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engrams.core import Json
from engrams.models.chat.schema_check import check, has_type

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class MendedData:
    """Data after mending."""

    data: Json
    dropped: int
    """Items of lists that could not be mended, and are left out."""


def mend(data: Json, schema: Mapping[str, Json]) -> MendedData | None:
    """Convert and leave out what a schema refuses. None: the rest does not satisfy it either.

    A list that would lose all its items cannot be mended: nothing of it was understood. Parts of a
    schema that refer to others or offer a choice are not mended.
    """
    mender = _DataMender()
    mended = mender.mend(data, schema)
    if check(mended, schema):
        return None
    return MendedData(mended, mender.dropped)


class _DataMender:
    """Mending of one value, which counts the items that it leaves out."""

    def __init__(self) -> None:
        self.dropped = 0

    def mend(self, data: Json, schema: Json) -> Json:
        """Mend a value by a schema, or by a part of one."""
        if not isinstance(schema, Mapping):
            return data
        converted = _convert(_wrap_list(data, schema), schema)
        if isinstance(converted, dict):
            return self._mend_object(converted, schema)
        if isinstance(converted, list):
            return self._mend_list(converted, schema)
        return converted

    def _mend_object(self, data: dict[str, Json], schema: Mapping[str, Json]) -> dict[str, Json]:
        properties: Mapping[str, Json] = schema.get("properties", {})
        required = schema.get("required", ())
        mended = {}
        for name, field_data in data.items():
            field_schema = properties.get(name)
            is_optional_null = field_data is None and name not in required
            if not is_optional_null or not check(None, field_schema or {}):
                mended[name] = self.mend(field_data, field_schema)
        return mended

    def _mend_list(self, data: list[Json], schema: Mapping[str, Json]) -> list[Json]:
        item_schema = schema.get("items")
        items = [self.mend(item, item_schema) for item in data]
        if not isinstance(item_schema, Mapping) or "$ref" in item_schema:
            return items
        sound_items = [item for item in items if not check(item, item_schema)]
        if not sound_items:
            return items
        self.dropped += len(items) - len(sound_items)
        return sound_items


def _wrap_list(data: Json, schema: Mapping[str, Json]) -> Json:
    """Make the object of a bare list of objects that stands for its only required list.

    "An empty list is a good answer", says a prompt, and a model answers with ``[]``.
    """
    required = schema.get("required", ())
    if schema.get("type") != "object" or not isinstance(data, list) or len(required) != 1:
        return data
    list_schema = schema.get("properties", {}).get(required[0])
    if not isinstance(list_schema, Mapping) or list_schema.get("type") != "array":
        return data
    item_schema = list_schema.get("items")
    if not isinstance(item_schema, Mapping) or item_schema.get("type") != "object":
        return data
    return {required[0]: data} if all(isinstance(item, dict) for item in data) else data


def _convert(data: Json, schema: Mapping[str, Json]) -> Json:
    """Convert a value to the type that a schema asks for; unchanged where it is no such value."""
    types = schema.get("type", ())
    types = [types] if isinstance(types, str) else list(types)
    if not types or any(has_type(data, name) for name in types):
        return data
    for name, conversion in _CONVERSIONS.items():
        if name in types and (converted := conversion(data)) is not None:
            return converted
    return data


def _to_integer(data: Json) -> int | None:
    number = _to_number(data)
    return int(number) if number is not None and number.is_integer() else None


def _to_number(data: Json) -> float | None:
    if isinstance(data, bool) or not isinstance(data, str | int | float):
        return None
    try:
        number = float(data)
    except (ValueError, OverflowError):
        return None
    return number if has_type(number, "number") else None


def _to_truth(data: Json) -> bool | None:
    return _TRUTH.get(data.strip().lower()) if isinstance(data, str) else None


def _to_text(data: Json) -> str | None:
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    return str(data) if is_number else None


def _to_list(data: Json) -> list[Json] | None:
    if data is None or data == "":
        return []
    return [data] if isinstance(data, str | dict) else None


_CONVERSIONS: dict[str, Callable[[Json], Any]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_truth,
    "string": _to_text,
    "array": _to_list,
}
"""Conversion to each type; None: the value is none of that type."""
