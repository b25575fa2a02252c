"""Read memories exported from mem0, hosted or open source, and its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from engrams.core import Json, StatedFields, Turn
from engrams.transfer.formats.field_parsers import clean_label, derive_id
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert,
    make_statement,
    place_in,
    predicate_name,
    state_relation,
)

_META_FIELDS = (
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "actor_id",
    "role",
    "hash",
    "structured_attributes",
)
_CHANGES = frozenset({"ADD", "UPDATE", "DELETE"})


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield memories and relations as facts, changes as history."""
    changes: list[SourceObject] = []
    for place, value in enumerate(values, 1):
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, data = value
        held = data if isinstance(data, Mapping) else {}
        if isinstance(held.get("relations"), list):
            for relation in held["relations"]:
                yield from convert(line, relation, _parse_relation, "A relation")
        elif isinstance(held.get("memories"), list):
            for at, memory in enumerate(held["memories"], 1):
                yield from convert(line, memory, lambda found, at=at: parse_memory(found, at))  # type: ignore[misc]
        elif is_change(held):
            changes.append(SourceObject(line, held))
        elif held and not {"memory", "text", "data", "id"} & held.keys():
            continue
        else:
            yield from convert(line, data, lambda found, at=place: parse_memory(found, at))  # type: ignore[misc]
    yield from read_changes(changes)


def is_change(data: Mapping[str, Any]) -> bool:
    """Tell an entry of ``Memory.history``, or of its database."""
    return "memory_id" in data and data.get("event") in _CHANGES


def parse_memory(found: SourceObject, place: object) -> ParsedTurn:
    """Convert one memory, also the payload of a vector store."""
    text = found.text("memory", "data", "text")
    extra = found.data.get("metadata")
    until = found.moment("expiration_date")
    stated = StatedFields(
        tags=found.labels("categories"), valid_to=until and until + timedelta(days=1)
    )
    turn = Turn(
        text,
        at=found.moment("created_at", "updated_at"),
        session=found.label("run_id"),
        external_id=found.label("id") or derive_id(place, text),
        meta={**found.pick(*_META_FIELDS), **(extra if isinstance(extra, dict) else {})},
        stated=stated,
    )
    where = place_in(
        agent=found.label("agent_id"),
        project=found.label("app_id"),
        conversation=found.label("run_id"),
    )
    return make_statement(turn, place=where, user=found.label("user_id"))


def read_changes(changes: Iterable[SourceObject]) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield each memory of a history, with its former texts.

    A former text ends when the next one begins. A memory that was deleted is left out, with its
    former texts.
    """
    chains: dict[str, list[SourceObject]] = {}
    for change in changes:
        chains.setdefault(clean_label(change.data.get("memory_id")), []).append(change)
    for id, chain in chains.items():
        try:
            yield from _read_chain(id, sorted(chain, key=_order))
        except ValueError as problem:
            yield UnreadablePiece(chain[0].line, f"The history of {id} was left out: {problem}.")


def _read_chain(id: str, chain: list[SourceObject]) -> Iterator[ParsedTurn]:
    if chain[-1].data.get("event") == "DELETE" or chain[-1].is_marked("is_deleted"):
        return
    texts = [
        (change.text("new_memory"), _changed_at(change), change)
        for change in chain
        if change.text("new_memory")
    ]
    for number, (text, at, change) in enumerate(texts):
        until = texts[number + 1][1] if number + 1 < len(texts) else None
        stated = StatedFields(valid_from=at, valid_to=until, ended_at=until)
        name = id if until is None and number + 1 == len(texts) else f"{id}:{number + 1}"
        yield make_statement(
            Turn(text, at=at, external_id=name, meta=change.pick("actor_id", "role"), stated=stated)
        )


def _changed_at(change: SourceObject) -> datetime | None:
    """Date a change; an update has a time of its own."""
    names = ("created_at", "updated_at")
    return change.moment(*(names if change.data.get("event") == "ADD" else names[::-1]))


def _order(change: SourceObject) -> tuple[float, int]:
    at = _changed_at(change)
    return (at.timestamp() if at else 0.0, ("ADD", "UPDATE", "DELETE").index(change.data["event"]))


def _parse_relation(found: SourceObject) -> ParsedTurn:
    ends = [
        found.label("source"),
        predicate_name(found.label("relationship", "relation")),
        found.label("target", "destination"),
    ]
    if not all(ends):
        raise ValueError("its source, relationship and target are needed")
    text, stated = state_relation(*ends)
    return make_statement(Turn(text, external_id=derive_id("relation", *ends), stated=stated))
