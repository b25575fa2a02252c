"""cognee: its archive (COGX) and its graph as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from engrams.core import Kind, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert,
    convert_all,
    make_scope_labels,
    make_statement,
    normalize_predicate,
    state_relation,
    title_text,
)
from engrams.transfer.formats.foreign_values import derive_id, role_and_speaker, scope_label
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_ENTITY_TYPES = frozenset({"Entity", "EntityType"})
_CHUNK_TYPE = "DocumentChunk"


def recognises(head: FileHead) -> bool:
    """Recognise records of an archive, and a graph by its edges."""
    return head.shape.has_rows({"kind", "external_id"}) or head.shape.has_rows(
        {"source", "target", "relationship_name"},
        {"source", "target", "relationship"},
        lists=("edges",),
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield facts and descriptions as facts, turns as messages, documents as notes.

    An archive is read with its entities first, because facts name them by id.
    """
    entity_names: dict[str, str] = {}
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        if isinstance(data, Mapping) and isinstance(data.get("edges"), list):
            yield from _read_graph(ForeignObject(line, data))
        elif isinstance(data, Mapping) and data.get("kind") == "episode":
            yield from _read_episode(ForeignObject(line, data))
        else:
            make = partial(_parse_record, entity_names=entity_names)
            yield from convert(line, data, make, "A record")


def _parse_record(record: ForeignObject, entity_names: dict[str, str]) -> ParsedTurn | None:
    """Convert a record of an archive; an entity's name is noted in ``entity_names``."""
    match record.label("kind"):
        case "entity":
            entity_names[record.label("external_id")] = record.label("name")
            return _parse_entity(record)
        case "fact":
            return _parse_fact(record, entity_names)
        case "memory":
            return _make_memory(record, record.text("content"), tags=record.labels("categories"))
        case "memory_block":
            label = record.label("label")
            return _make_memory(record, record.text("value"), tags=(label,) if label else ())
        case "document":
            return _make_memory(record, record.text("content"), kind=Kind.NOTE)
        case "raw_node" | "":
            return None
        case kind:
            raise ValueError(f"its kind {kind!r} is not known")


def _parse_entity(entity: ForeignObject) -> ParsedTurn | None:
    """Convert an entity's description; None for an entity that is only named."""
    name = entity.label("name")
    description = entity.text("description")
    if not (name and description):
        return None
    entity_type = entity.label("entity_type")
    return _make_memory(
        entity,
        title_text(name, description),
        StatedFields(subject=name),
        tags=(entity_type,) if entity_type else (),
    )


def _parse_fact(fact: ForeignObject, entity_names: Mapping[str, str]) -> ParsedTurn | None:
    """Convert a relation; None for a relation to something without a name."""
    subject = _find_name(fact.label("subject_ref"), entity_names)
    object = _find_name(fact.label("object_ref"), entity_names)
    text = fact.text("fact_text")
    if not text and not (subject and object):
        return None
    words, relation = state_relation(subject, normalize_predicate(fact.label("predicate")), object)
    stated = replace(
        relation,
        valid_from=fact.moment("valid_at"),
        valid_to=fact.moment("invalid_at"),
        confidence=fact.share("confidence"),
    )
    return _make_memory(fact, text or words, stated)


def _find_name(reference: str, entity_names: Mapping[str, str]) -> str:
    """Return the name that a reference stands for; empty for an unknown id."""
    if reference in entity_names:
        return entity_names[reference]
    return "" if _is_uuid(reference) else reference


def _make_memory(
    record: ForeignObject,
    text: str,
    stated: StatedFields | None = None,
    tags: tuple[str, ...] = (),
    kind: Kind = Kind.FACT,
) -> ParsedTurn:
    scope = _find_scope(record)
    turn = Turn(
        text,
        at=record.moment("created_at", "updated_at"),
        session=scope.label("session_id", "run_id"),
        external_id=record.label("external_id") or derive_id("cognee", record.label("kind"), text),
        meta=record.pick("external_system", "title", "metadata"),
        stated=replace(stated or StatedFields(), tags=tags),
    )
    return make_statement(
        turn, scope_labels=_scope_labels(scope), user=scope.label("user_id"), kind=kind
    )


def _read_episode(episode: ForeignObject) -> Iterator[ForeignPiece]:
    """Yield the turns of a conversation."""
    scope = _find_scope(episode)
    name = scope_label(episode.label("external_id", "title"))

    def make_turn(turn: ForeignObject) -> ParsedTurn | None:
        text = turn.text("content")
        role_name = turn.label("role")
        role, speaker = role_and_speaker(role_name if role_name != "episode" else None)
        message = Turn(
            text=text,
            role=role,
            speaker=speaker,
            at=turn.moment("occurred_at") or episode.moment("created_at"),
            session=scope.label("session_id", "run_id") or name,
            external_id=derive_id("cognee", name, turn.label("occurred_at"), text),
            meta=episode.pick("title"),
        )
        if not text:
            return None
        return ParsedTurn(message, scope_labels=_scope_labels(scope), user=scope.label("user_id"))

    yield from convert_all(episode.objects("turns"), make_turn, "A turn")


def _read_graph(graph: ForeignObject) -> Iterator[ForeignPiece]:
    """Yield the nodes and edges of a graph, converted as records of an archive."""
    entity_names = {
        node.label("id"): node.label("name")
        for node in graph.objects("nodes")
        if node.label("type") in _ENTITY_TYPES
    }

    def make_node(node: ForeignObject) -> ParsedTurn | None:
        record = {**node.data, "external_id": node.label("id")}
        if node.label("type") == _CHUNK_TYPE:
            record |= {"kind": "document", "content": node.text("text")}
        elif node.label("type") in _ENTITY_TYPES:
            record["kind"] = "entity"
        else:
            return None
        return _parse_record(ForeignObject(node.line, record), {})

    def make_edge(edge: ForeignObject) -> ParsedTurn | None:
        source = edge.label("source")
        target = edge.label("target")
        if source not in entity_names or target not in entity_names:
            return None
        relationship = edge.label("relationship_name", "relationship")
        record = {
            **edge.data,
            "kind": "fact",
            "external_id": f"{source}:{relationship}:{target}",
            "subject_ref": source,
            "object_ref": target,
            "predicate": relationship,
            "fact_text": edge.text("edge_text"),
        }
        return _parse_fact(ForeignObject(edge.line, record), entity_names)

    yield from convert_all(graph.objects("nodes"), make_node, "A node")
    yield from convert_all(graph.objects("edges"), make_edge, "An edge")


def _find_scope(record: ForeignObject) -> ForeignObject:
    """Return the object that says whose a record is."""
    return record.inner("scope") or ForeignObject(record.line, {})


def _scope_labels(scope: ForeignObject) -> tuple[str, ...]:
    return make_scope_labels(agent=scope.label("agent_id"))


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4
