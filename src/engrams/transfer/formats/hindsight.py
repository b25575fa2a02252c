"""Read Hindsight's memories: transfer archives and answers of its API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import derive_id
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert_all,
    make_statement,
    unwrap,
)

_META = (
    "context",
    "document_id",
    "occurred_start",
    "occurred_end",
    "invalidation_reason",
    "metadata",
)


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield memory units as facts, their documents as episodes.

    An invalidated unit is history. When an event happened stays in its metadata; it does not end
    the fact.
    """
    for found in unwrap(values, "items", "results", "observations"):
        if isinstance(found, UnreadablePiece):
            yield found
        elif "original_text" in found.data or "chunks" in found.data:
            yield from _read_document(found)
        else:
            yield from convert_all([found], lambda unit: _parse_unit(unit, ""), "A memory unit")


def _read_document(found: SourceObject) -> Iterator[ParsedTurn | UnreadablePiece]:
    id = found.label("id")
    tags = found.labels("tags")
    facts = found.objects("facts")
    at = found.data.get("created_at")
    texts = [chunk.data.get("chunk_text") for chunk in found.objects("chunks")] or [
        found.data.get("original_text")
    ]
    pieces = [
        {"text": text, "at": at, "place": number}
        for number, text in enumerate(texts, 1)
        if isinstance(text, str)
    ]

    def make(part: SourceObject) -> ParsedTurn:
        turn = Turn(
            part.text("text"),
            at=part.moment("at"),
            external_id=derive_id("hindsight document", id, part.data["place"]),
            meta={"document_id": id},
            stated=StatedFields(tags=tags),
        )
        # What was learned from it comes beside it, and is not to be learned again.
        return make_statement(turn, kind=Kind.EPISODE if facts else Kind.NOTE)

    yield from convert_all(
        [SourceObject(found.line, piece) for piece in pieces], make, "A document"
    )
    yield from convert_all(facts, lambda unit: _parse_unit(unit, id), "A memory unit")


def _parse_unit(found: SourceObject, document: str) -> ParsedTurn:
    text = found.text("text")
    kind = found.label("fact_type", "type") or (
        "observation" if "proof_count" in found.data else ""
    )
    people = found.labels("entities")
    invalid = found.label("state") == "invalidated" or bool(found.label("invalidated_at"))
    retired = found.moment("invalidated_at", "edited_at", "created_at", "date") if invalid else None
    meta = {
        **found.pick(*_META),
        **({"fact_type": kind} if kind else {}),
        **({"entities": list(people)} if people else {}),
    }
    turn = Turn(
        text,
        at=found.moment("mentioned_at", "created_at", "date", "event_date", "occurred_start"),
        external_id=found.label("id", "source_id") or derive_id("hindsight unit", document, text),
        meta={**meta, **({"document_id": document} if document else {})},
        stated=StatedFields(
            tags=found.labels("tags"), valid_from=found.moment("occurred_start"), retired_at=retired
        ),
    )
    return make_statement(turn)
