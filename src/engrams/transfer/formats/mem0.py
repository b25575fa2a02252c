"""mem0: memories of its hosted and open-source versions, relations, and its history of changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from engrams.core import Json, Record, Role, StatedFields, Turn, to_role
from engrams.errors import InputError
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert,
    make_scope_labels,
    make_statement,
    normalize_predicate,
    state_relation,
)
from engrams.transfer.formats.foreign_values import clean_label, derive_id
from engrams.transfer.formats.pieces import (
    TELLING_KINDS,
    ExportLine,
    ForeignPiece,
    JsonElement,
    ParsedTurn,
    UnreadablePiece,
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
_EVENTS = ("ADD", "UPDATE", "DELETE")
"""Events of a history, in their order where they bear the same time."""
_PAYLOAD_FIELDS = frozenset(
    {
        "data",
        "hash",
        "created_at",
        "updated_at",
        "user_id",
        "agent_id",
        "app_id",
        "run_id",
        "actor_id",
        "role",
        "categories",
    }
)
"""Fields of a vector store's payload that mem0 itself writes; the others are the user's metadata."""
_ID_FIELDS = {
    "user": "user_id",
    "agent": "agent_id",
    "project": "app_id",
    "conversation": "run_id",
}
"""Kind of a scope label to the field that holds its name."""


def recognises(head: FileHead) -> bool:
    """Recognise ``get_all``, the hosted export, and a history as JSON."""
    shape = head.shape
    return (
        {"memory_id", "event"} <= shape.keys
        or ("memory" in shape.keys and "text" not in shape.keys)
        or (shape.root == "{" and shape.has_list("results"))
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield memories and relations as facts, changes as history."""
    changes: list[ForeignObject] = []
    for position, element in enumerate(elements, 1):
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        fields = data if isinstance(data, Mapping) else {}
        if isinstance(fields.get("relations"), list):
            for relation in fields["relations"]:
                yield from convert(line, relation, _parse_relation, "A relation")
        elif isinstance(fields.get("memories"), list):
            for number, memory in enumerate(fields["memories"], 1):
                yield from convert(line, memory, partial(parse_memory, position=number))
        elif _is_change(fields):
            changes.append(ForeignObject(line, fields))
        elif fields and not {"memory", "text", "data", "id"} & fields.keys():
            continue  # the rest of an answer's page: counts, links to other pages
        else:
            yield from convert(line, data, partial(parse_memory, position=position))
    yield from read_history(changes)


def _is_change(data: Mapping[str, Any]) -> bool:
    """Check for an entry of ``Memory.history``, or of its database."""
    return "memory_id" in data and data.get("event") in _EVENTS


def parse_memory(memory: ForeignObject, position: object) -> ParsedTurn:
    """Convert one memory, also the payload of a vector store.

    ``position``: tells memories without an id apart.
    """
    text = memory.text("memory", "data", "text")
    metadata = memory.data.get("metadata")
    last_day = memory.moment("expiration_date")
    turn = Turn(
        text,
        role=_find_role(memory.data.get("role")),
        at=memory.moment("created_at", "updated_at"),
        session=memory.label("run_id"),
        external_id=memory.label("id") or derive_id(position, text),
        meta={**memory.pick(*_META_FIELDS), **(metadata if isinstance(metadata, dict) else {})},
        stated=StatedFields(
            tags=memory.labels("categories"), valid_to=last_day and last_day + timedelta(days=1)
        ),
    )
    return make_statement(
        turn,
        scope_labels=make_scope_labels(
            agent=memory.label("agent_id"),
            project=memory.label("app_id"),
            conversation=memory.label("run_id"),
        ),
        user=memory.label("user_id"),
    )


def _find_role(name: Json) -> Role:
    """Return who said a memory; a memory without a known role is the user's."""
    try:
        return to_role(name)
    except InputError:
        return "user"


def parse_point(point: Mapping[str, Any], line: int) -> ParsedTurn | None:
    """Convert a point of the vector store; None for a point of another program.

    ``point``: its ``id`` and ``payload``.
    """
    payload = point["payload"]
    if not isinstance(payload, dict) or not isinstance(payload.get("data"), str):
        return None
    metadata = {
        name: value
        for name, value in payload.items()
        if name not in _PAYLOAD_FIELDS and not name.startswith("text_")
    }
    point_id = str(point.get("id") or "")
    memory = {**payload, "id": point_id, "metadata": metadata, "memory": payload["data"]}
    return parse_memory(ForeignObject(line, memory), point_id)


def read_history(changes: Iterable[ForeignObject]) -> Iterator[ForeignPiece]:
    """Yield each memory of a history, with its former texts.

    A former text ends when the next one begins. A memory that was deleted is left out, with its
    former texts.
    """
    chains: dict[str, list[ForeignObject]] = {}
    for change in changes:
        chains.setdefault(clean_label(change.data.get("memory_id")), []).append(change)
    for memory_id, chain in chains.items():
        try:
            yield from _read_chain(memory_id, sorted(chain, key=_sort_key))
        except ValueError as problem:
            yield UnreadablePiece(
                chain[0].line, f"The history of {memory_id} was left out: {problem}."
            )


def _read_chain(memory_id: str, chain: list[ForeignObject]) -> Iterator[ParsedTurn]:
    """Yield the texts of one memory, oldest first; only the last one bears its id alone."""
    if chain[-1].data.get("event") == "DELETE" or chain[-1].is_marked("is_deleted"):
        return
    versions = [
        (change.text("new_memory"), _changed_at(change), change)
        for change in chain
        if change.text("new_memory")
    ]
    for number, (text, at, change) in enumerate(versions, 1):
        is_last = number == len(versions)
        ended_at = None if is_last else versions[number][1]
        yield make_statement(
            Turn(
                text,
                at=at,
                external_id=memory_id if is_last else f"{memory_id}:{number}",
                meta=change.pick("actor_id", "role"),
                stated=StatedFields(valid_from=at, valid_to=ended_at, ended_at=ended_at),
            )
        )


def _changed_at(change: ForeignObject) -> datetime | None:
    """Date a change: an addition by its creation, others by their update."""
    if change.data.get("event") == "ADD":
        return change.moment("created_at", "updated_at")
    return change.moment("updated_at", "created_at")


def _sort_key(change: ForeignObject) -> tuple[float, int]:
    at = _changed_at(change)
    return (at.timestamp() if at else 0.0, _EVENTS.index(change.data["event"]))


def _parse_relation(relation: ForeignObject) -> ParsedTurn:
    subject = relation.label("source")
    predicate = normalize_predicate(relation.label("relationship", "relation"))
    object = relation.label("target", "destination")
    if not (subject and predicate and object):
        raise ValueError("its source, relationship and target are needed")
    text, stated = state_relation(subject, predicate, object)
    external_id = derive_id("relation", subject, predicate, object)
    return make_statement(Turn(text, external_id=external_id, stated=stated))


def to_lines(records: Iterable[Record]) -> Iterator[ExportLine]:
    """Yield the lines of what mem0's ``get_all`` answers: statements, no messages."""
    separator = '{"results": [\n'
    for record in records:
        if record.kind not in TELLING_KINDS:
            continue
        yield separator + json.dumps(_to_memory(record), default=str), 1
        separator = ",\n"
    opening = "" if separator == ",\n" else separator
    yield f"{opening}\n]}}\n", 0


def _to_memory(record: Record) -> dict[str, Any]:
    labels = record.scope.labels
    names = dict(zip(labels[::2], labels[1::2], strict=False)) or {"user": labels[0]}
    ids = {_ID_FIELDS[kind]: name for kind, name in names.items() if kind in _ID_FIELDS}
    recorded_at = record.recorded_at.isoformat()
    # mem0 names the last day on which a memory holds, engrams the first on which it does not.
    last_day = str((record.valid_to - timedelta(days=1)).date()) if record.valid_to else None
    return {
        "id": record.id,
        "memory": record.text,
        "hash": record.hash,
        **ids,
        "metadata": {**record.meta, "kind": record.kind.value},
        "categories": list(record.tags),
        "created_at": recorded_at,
        "updated_at": recorded_at,
        "expiration_date": last_day,
    }
