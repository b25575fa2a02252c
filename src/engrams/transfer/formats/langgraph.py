"""LangGraph: items of a store, as LangMem keeps its memories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from engrams.core import Json, Record, Scope, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert_all,
    make_statement,
    unwrap_pages,
)
from engrams.transfer.formats.foreign_values import clean_label, derive_id
from engrams.transfer.formats.pieces import (
    ExportLine,
    ForeignPiece,
    JsonElement,
    ParsedTurn,
    UnreadablePiece,
)

_TEXT_FIELDS = ("content", "text", "memory", "data")
_EXPORTED_FIELDS = ("role", "speaker", "session", "subject", "predicate", "object", "category")


def recognises(head: FileHead) -> bool:
    """Recognise items by namespace, key and value."""
    return head.shape.has_rows({"namespace", "key", "value"})


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield items, as ``Item.dict()`` gives them, as facts.

    LangMem's ``content`` is their text.
    """
    for item in unwrap_pages(elements, "items"):
        if isinstance(item, UnreadablePiece):
            yield item
        else:
            yield from convert_all([item], _parse_item, "An item")


def _parse_item(item: ForeignObject) -> ParsedTurn:
    value = item.inner("value") or item
    content = value.data.get("content")
    namespace = item.data.get("namespace")
    labels = [clean_label(name) for name in namespace] if isinstance(namespace, list) else []
    key = item.label("key")
    meta: dict[str, Json] = {"namespace": labels, "key": key}
    if isinstance(content, Mapping):
        text = _describe(content)
        meta["value"] = dict(content)
    else:
        text = value.text(*_TEXT_FIELDS) or _describe(value.data)
    return make_statement(
        Turn(
            text,
            at=item.moment("created_at", "updated_at"),
            external_id=derive_id("langgraph", *labels, key),
            meta=meta,
            stated=StatedFields(tags=value.labels("tags")),
        )
    )


def _describe(value: Mapping[str, Json]) -> str:
    """Describe a structured value in words, a field each."""
    return "; ".join(
        f"{name}: {words}" for name, inner in value.items() if (words := clean_label(inner))
    )


def to_lines(records: Iterable[Record]) -> Iterator[ExportLine]:
    """Yield a line for each item, as ``Item.dict()`` gives it.

    A program stores it again with ``store.put(tuple(namespace), key, value)``.
    """
    for record in records:
        recorded_at = record.recorded_at.isoformat()
        item = {
            "namespace": _to_namespace(record.scope),
            "key": record.id,
            "value": _to_value(record),
            "created_at": recorded_at,
            "updated_at": recorded_at,
        }
        yield json.dumps(item, default=str) + "\n", 1


def _to_value(record: Record) -> dict[str, Json]:
    value: dict[str, Json] = {"content": record.text, "kind": record.kind.value}
    for name in _EXPORTED_FIELDS:
        if text := getattr(record, name):
            value[name] = text
    if record.tags:
        value["tags"] = list(record.tags)
    for name in ("valid_from", "valid_to"):
        if moment := getattr(record, name):
            value[name] = moment.isoformat()
    return value


def _to_namespace(scope: Scope) -> list[str]:
    """Return a scope as a namespace, whose labels may not hold a dot."""
    return ["memories", *(label.replace(".", "_") for label in scope.labels[1::2] or scope.labels)]
