"""Read memories exported from mem0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engrams.formats.fieldparsers import clean_label, derive_id, first_filled, message_text, parse_moment
from engrams.formats.parseditems import ParsedTurn, UnreadablePiece
from engrams.types import Json, Kind, Turn

_META_FIELDS = ("user_id", "agent_id", "run_id", "actor_id", "hash")


def read(values: Iterable[tuple[int, Json] | UnreadablePiece]) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield memories as facts, relations as facts with a triple."""
    for place, value in enumerate(values, 1):
        if isinstance(value, UnreadablePiece):
            yield value
        elif isinstance(value[1], dict) and isinstance(value[1].get("relations"), list):
            yield from (_parse_relation(value[0], relation) for relation in value[1]["relations"])
        elif isinstance(value[1], dict) and first_filled(value[1], "memory", "text") is not None:
            yield _parse_memory(value[0], place, value[1])
        elif isinstance(value[1], dict) and "memory" not in value[1] and "id" not in value[1]:
            continue
        else:
            yield UnreadablePiece(value[0], "A memory with its text was expected.")


def _parse_memory(line: int, place: int, data: dict[str, Any]) -> ParsedTurn | UnreadablePiece:
    text = message_text(first_filled(data, "memory", "text"))
    if not text:
        return UnreadablePiece(line, "The memory has no text.")
    try:
        at = parse_moment(first_filled(data, "created_at", "updated_at"))
    except ValueError as problem:
        return UnreadablePiece(line, f"This memory was left out: {problem}.")
    extra, categories = data.get("metadata"), data.get("categories")
    meta = {name: data[name] for name in _META_FIELDS if isinstance(data.get(name), str)} | (extra if isinstance(extra, dict) else {})
    tags = tuple(tag for name in categories if (tag := clean_label(name))) if isinstance(categories, list) else ()
    turn = Turn(
        text, at=at, session=clean_label(data.get("run_id")), external_id=clean_label(data.get("id")) or derive_id(place, text), meta=meta
    )
    return ParsedTurn(turn, "", Kind.FACT, tags=tags)


def _parse_relation(line: int, data: Json) -> ParsedTurn | UnreadablePiece:
    found = data if isinstance(data, dict) else {}
    ends = [clean_label(found.get(name)) for name in ("source", "relationship", "target")]
    ends[2] = ends[2] or clean_label(found.get("destination"))
    if not all(ends):
        return UnreadablePiece(line, "A relation with source, relationship and target was expected.")
    text = " ".join(end.replace("_", " ") for end in ends)
    return ParsedTurn(Turn(text, external_id=derive_id("relation", *ends)), "", Kind.FACT, ends[0], ends[1], ends[2])
