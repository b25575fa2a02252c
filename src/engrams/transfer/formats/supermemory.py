"""Supermemory: documents and memories, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engrams.core import Kind, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert_all,
    make_statement,
    unwrap_pages,
)
from engrams.transfer.formats.foreign_values import derive_id
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_TITLE_AREA = 400
"""Characters of a document in which its title may stand already."""


def recognises(head: FileHead) -> bool:
    """Recognise documents and memories by fields of their own."""
    return head.shape.has_rows(
        {"memory", "isLatest"},
        {"memory", "isForgotten"},
        {"id", "containerTags"},
        {"type", "system"},
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield memories as facts, documents as notes.

    An older version of a memory is history; a forgotten one is left out. The memories of a document
    stand beside it or within it.
    """
    for item in unwrap_pages(elements, "memories", "memoryEntries", "documents"):
        if isinstance(item, UnreadablePiece):
            yield item
            continue
        make = _parse_memory if "memory" in item.data else _parse_document
        yield from convert_all([item], make, "A memory")
        yield from convert_all(item.objects("memories", "memoryEntries"), _parse_memory)


def _parse_memory(memory: ForeignObject) -> ParsedTurn | None:
    if memory.is_marked("isForgotten"):
        return None
    text = memory.text("memory")
    times = _find_times(memory)
    is_former = memory.data.get("isLatest") is False
    turn = Turn(
        text,
        at=times.moment("createdAt", "updatedAt"),
        external_id=memory.label("id") or derive_id("supermemory", text),
        meta=memory.pick("metadata", "version", "isStatic", "isInference"),
        stated=StatedFields(
            tags=memory.labels("containerTags", "containerTag", "spaceContainerTag"),
            valid_to=times.moment("updatedAt", "createdAt") if is_former else None,
        ),
    )
    return make_statement(turn)


def _parse_document(document: ForeignObject) -> ParsedTurn | None:
    """Convert a document; None for one that names neither title nor content."""
    title = document.label("title")
    text = document.text("content", "summary")
    if not (title or text):
        return None
    if title and title.casefold() not in text.casefold()[:_TITLE_AREA]:
        text = f"{title}\n\n{text}".strip()
    has_memories = bool(document.objects("memories", "memoryEntries"))
    turn = Turn(
        text,
        at=_find_times(document).moment("createdAt", "updatedAt"),
        external_id=document.label("id") or derive_id("supermemory", text),
        meta=document.pick("title", "url", "type", "customId", "metadata"),
        stated=StatedFields(tags=document.labels("containerTags", "containerTag")),
    )
    return make_statement(turn, kind=Kind.EPISODE if has_memories else Kind.NOTE)


def _find_times(item: ForeignObject) -> ForeignObject:
    """Return the object with the times: newer answers keep them under ``system``."""
    return item.inner("system") or item
