"""Read Supermemory's documents and memories, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import derive_id
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert_all,
    make_statement,
    unwrap,
)


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield memories as facts, documents as notes.

    An older version of a memory is history; a forgotten one is left out. The memories of a document
    stand beside it or within it.
    """
    for found in unwrap(values, "memories", "memoryEntries", "documents"):
        if isinstance(found, UnreadablePiece):
            yield found
            continue
        yield from convert_all(
            [found], _parse_memory if "memory" in found.data else _parse_document, "A memory"
        )
        yield from convert_all(found.objects("memories", "memoryEntries"), _parse_memory)


def _parse_memory(found: SourceObject) -> ParsedTurn | None:
    if found.is_marked("isForgotten"):
        return None
    text = found.text("memory")
    system = _system(found)
    old = found.data.get("isLatest") is False
    changed = system.moment("updatedAt", "createdAt") if old else None
    turn = Turn(
        text,
        at=system.moment("createdAt", "updatedAt"),
        external_id=found.label("id") or derive_id("supermemory", text),
        meta=found.pick("metadata", "version", "isStatic", "isInference"),
        stated=StatedFields(
            tags=found.labels("containerTags", "containerTag", "spaceContainerTag"),
            valid_to=changed,
        ),
    )
    return make_statement(turn)


def _parse_document(found: SourceObject) -> ParsedTurn | None:
    title = found.label("title")
    words = found.text("content", "summary")
    if not (title or words):
        return None
    text = (
        words
        if not title or title.casefold() in words.casefold()[:400]
        else f"{title}\n\n{words}".strip()
    )
    learned = bool(found.objects("memories", "memoryEntries"))
    turn = Turn(
        text,
        at=_system(found).moment("createdAt", "updatedAt"),
        external_id=found.label("id") or derive_id("supermemory", text),
        meta=found.pick("title", "url", "type", "customId", "metadata"),
        stated=StatedFields(tags=found.labels("containerTags", "containerTag")),
    )
    return make_statement(turn, kind=Kind.EPISODE if learned else Kind.NOTE)


def _system(found: SourceObject) -> SourceObject:
    """Return the object with the times: newer answers keep them under ``system``."""
    held: Any = found.data.get("system")
    return SourceObject(found.line, held if isinstance(held, dict) else found.data)
