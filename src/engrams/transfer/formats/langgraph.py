"""Read and write items of a LangGraph store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from engrams.core import Json, StatedFields, Turn
from engrams.transfer.formats.field_parsers import clean_label, derive_id
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert_all,
    make_statement,
    unwrap,
)

_TEXTS = ("content", "text", "memory", "data")


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield items, as ``Item.dict()`` gives them, as facts.

    LangMem's ``content`` is their text.
    """
    for found in unwrap(values, "items"):
        if isinstance(found, UnreadablePiece):
            yield found
        else:
            yield from convert_all([found], _parse_item, "An item")


def _parse_item(found: SourceObject) -> ParsedTurn:
    value = found.data.get("value")
    names = found.data.get("namespace")
    held = SourceObject(found.line, value) if isinstance(value, Mapping) else found
    inner = held.data.get("content")
    text = (
        _describe(inner)
        if isinstance(inner, Mapping)
        else held.text(*_TEXTS) or _describe(held.data)
    )
    space = [clean_label(name) for name in names] if isinstance(names, list) else []
    meta = {
        "namespace": space,
        "key": found.label("key"),
        **({"value": dict(inner)} if isinstance(inner, Mapping) else {}),
    }
    turn = Turn(
        text,
        at=found.moment("created_at", "updated_at"),
        external_id=derive_id("langgraph", *space, found.label("key")),
        meta=meta,
        stated=StatedFields(tags=held.labels("tags")),
    )
    return make_statement(turn)


def _describe(value: Mapping[str, Json]) -> str:
    """Say a structured value in words, a field each."""
    return "; ".join(
        f"{name}: {words}" for name, held in value.items() if (words := clean_label(held))
    )
