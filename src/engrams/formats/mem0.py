"""Memories exported from mem0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engrams.formats.fields import first, label, made_id, moment, prose
from engrams.formats.items import Bad, Parsed
from engrams.types import Json, Kind, Turn

_META_FIELDS = ("user_id", "agent_id", "run_id", "actor_id", "hash")


def read(values: Iterable[tuple[int, Json] | Bad]) -> Iterator[Parsed | Bad]:
    """Each memory as a fact without a triple, each relation as one with it."""
    for place, value in enumerate(values, 1):
        if isinstance(value, Bad):
            yield value
        elif isinstance(value[1], dict) and isinstance(value[1].get("relations"), list):
            yield from (_parse_relation(value[0], relation) for relation in value[1]["relations"])
        elif isinstance(value[1], dict) and first(value[1], "memory", "text") is not None:
            yield _parse_memory(value[0], place, value[1])
        elif isinstance(value[1], dict) and "memory" not in value[1] and "id" not in value[1]:
            continue
        else:
            yield Bad(value[0], "A memory with its text was expected.")


def _parse_memory(line: int, place: int, data: dict[str, Any]) -> Parsed | Bad:
    text = prose(first(data, "memory", "text"))
    if not text:
        return Bad(line, "The memory has no text.")
    try:
        at = moment(first(data, "created_at", "updated_at"))
    except ValueError as problem:
        return Bad(line, f"This memory was left out: {problem}.")
    extra, categories = data.get("metadata"), data.get("categories")
    meta = {name: data[name] for name in _META_FIELDS if isinstance(data.get(name), str)} | (extra if isinstance(extra, dict) else {})
    tags = tuple(tag for name in categories if (tag := label(name))) if isinstance(categories, list) else ()
    turn = Turn(text, at=at, session=label(data.get("run_id")), external_id=label(data.get("id")) or made_id(place, text), meta=meta)
    return Parsed(turn, "", Kind.FACT, tags=tags)


def _parse_relation(line: int, data: Json) -> Parsed | Bad:
    found = data if isinstance(data, dict) else {}
    ends = [label(found.get(name)) for name in ("source", "relationship", "target")]
    ends[2] = ends[2] or label(found.get("destination"))
    if not all(ends):
        return Bad(line, "A relation with source, relationship and target was expected.")
    text = " ".join(end.replace("_", " ") for end in ends)
    return Parsed(Turn(text, external_id=made_id("relation", *ends)), "", Kind.FACT, ends[0], ends[1], ends[2])
