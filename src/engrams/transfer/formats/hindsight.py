"""Hindsight: memory units and documents, of transfer archives and of answers of its API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

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

_META_FIELDS = (
    "context",
    "document_id",
    "occurred_start",
    "occurred_end",
    "invalidation_reason",
    "metadata",
)


def recognises(head: FileHead) -> bool:
    """Recognise units and documents by fields of their own."""
    return head.shape.has_rows(
        {"text", "fact_type"},
        {"text", "mentioned_at"},
        {"original_text", "facts"},
        {"text", "proof_count"},
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield memory units as facts, their documents as episodes.

    An invalidated unit is history. When an event happened stays in its metadata; it does not end
    the fact.
    """
    for item in unwrap_pages(elements, "items", "results", "observations"):
        if isinstance(item, UnreadablePiece):
            yield item
        elif "original_text" in item.data or "chunks" in item.data:
            yield from _read_document(item)
        else:
            yield from convert_all([item], partial(_parse_unit, document_id=""), "A memory unit")


def _read_document(document: ForeignObject) -> Iterator[ForeignPiece]:
    document_id = document.label("id")
    tags = document.labels("tags")
    units = document.objects("facts")
    texts = [chunk.data.get("chunk_text") for chunk in document.objects("chunks")]
    if not texts:
        texts = [document.data.get("original_text")]
    chunks = [
        ForeignObject(document.line, {"text": text, "number": number})
        for number, text in enumerate(texts, 1)
        if isinstance(text, str)
    ]

    def make_chunk(chunk: ForeignObject) -> ParsedTurn:
        turn = Turn(
            chunk.text("text"),
            at=document.moment("created_at"),
            external_id=derive_id("hindsight document", document_id, chunk.data["number"]),
            meta={"document_id": document_id},
            stated=StatedFields(tags=tags),
        )
        # The facts learned from a document stand beside it: nothing is to be learned from it again.
        return make_statement(turn, kind=Kind.EPISODE if units else Kind.NOTE)

    yield from convert_all(chunks, make_chunk, "A document")
    yield from convert_all(units, partial(_parse_unit, document_id=document_id), "A memory unit")


def _parse_unit(unit: ForeignObject, document_id: str) -> ParsedTurn:
    text = unit.text("text")
    fact_type = unit.label("fact_type", "type")
    if not fact_type and "proof_count" in unit.data:
        fact_type = "observation"
    entities = unit.labels("entities")
    meta = unit.pick(*_META_FIELDS)
    if fact_type:
        meta["fact_type"] = fact_type
    if entities:
        meta["entities"] = list(entities)
    if document_id:
        meta["document_id"] = document_id
    is_invalid = unit.label("state") == "invalidated" or bool(unit.label("invalidated_at"))
    retired_at = None
    if is_invalid:
        retired_at = unit.moment("invalidated_at", "edited_at", "created_at", "date")
    turn = Turn(
        text,
        at=unit.moment("mentioned_at", "created_at", "date", "event_date", "occurred_start"),
        external_id=unit.label("id", "source_id") or derive_id("hindsight unit", document_id, text),
        meta=meta,
        stated=StatedFields(
            tags=unit.labels("tags"),
            valid_from=unit.moment("occurred_start"),
            retired_at=retired_at,
        ),
    )
    return make_statement(turn)
