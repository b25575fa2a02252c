"""Read cognee's exports: its archive (COGX) and its graph as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import derive_id, role_and_speaker, scope_label
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert,
    convert_all,
    make_statement,
    place_in,
    predicate_name,
    state_relation,
)

_NAMED = frozenset({"Entity", "EntityType"})


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield facts and descriptions as facts, turns as messages, documents as notes.

    An archive is read with its entities first, for facts name them by id.
    """
    names: dict[str, str] = {}
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, data = value
        if isinstance(data, Mapping) and isinstance(data.get("edges"), list):
            yield from _read_graph(SourceObject(line, data))
        elif isinstance(data, Mapping) and data.get("kind") == "episode":
            yield from _read_episode(SourceObject(line, data))
        else:
            yield from convert(line, data, lambda found: _parse_record(found, names), "A record")


def _parse_record(found: SourceObject, names: dict[str, str]) -> ParsedTurn | None:
    match found.label("kind"):
        case "entity":
            names[found.label("external_id")] = found.label("name")
            return _parse_entity(found)
        case "fact":
            return _parse_fact(found, names)
        case "memory":
            return _state(found, found.text("content"), tags=found.labels("categories"))
        case "memory_block":
            label = found.label("label")
            return _state(found, found.text("value"), tags=(label,) if label else ())
        case "document":
            return _state(found, found.text("content"), kind=Kind.NOTE)
        case "raw_node" | "":
            return None
        case other:
            raise ValueError(f"its kind {other!r} is not known")


def _parse_entity(found: SourceObject) -> ParsedTurn | None:
    """An entity without a description only names something."""
    name = found.label("name")
    words = found.text("description")
    if not (name and words):
        return None
    tags = (kind,) if (kind := found.label("entity_type")) else ()
    return _state(
        found,
        words if name.casefold() in words.casefold() else f"{name}: {words}",
        StatedFields(subject=name),
        tags,
    )


def _parse_fact(found: SourceObject, names: Mapping[str, str]) -> ParsedTurn | None:
    """Convert a relation; one to something unnamed says nothing."""
    refs = [found.label(name) for name in ("subject_ref", "object_ref")]
    ends = [names.get(ref, "" if _is_uuid(ref) else ref) for ref in refs]
    text = found.text("fact_text")
    if not all(ends) and not text:
        return None
    words, stated = state_relation(ends[0], predicate_name(found.label("predicate")), ends[1])
    valid = found.moment("valid_at")
    invalid = found.moment("invalid_at")
    known = replace(
        stated, confidence=found.share("confidence"), valid_from=valid, valid_to=invalid
    )
    return _state(found, text or words, known)


def _state(
    found: SourceObject,
    text: str,
    stated: StatedFields | None = None,
    tags: tuple[str, ...] = (),
    kind: Kind = Kind.FACT,
) -> ParsedTurn:
    known = stated or StatedFields()
    scope = _scope(found)
    turn = Turn(
        text,
        at=found.moment("created_at", "updated_at"),
        session=scope.label("session_id", "run_id"),
        external_id=found.label("external_id") or derive_id("cognee", found.label("kind"), text),
        meta=found.pick("external_system", "title", "metadata"),
        stated=replace(known, tags=tags),
    )
    return make_statement(turn, place=_place(scope), user=scope.label("user_id"), kind=kind)


def _read_episode(found: SourceObject) -> Iterator[ParsedTurn | UnreadablePiece]:
    scope = _scope(found)
    name = scope_label(found.label("external_id", "title"))

    def make(turn: SourceObject) -> ParsedTurn | None:
        role = turn.label("role")
        text = turn.text("content")
        said = Turn(
            text,
            *role_and_speaker(role if role != "episode" else None),
            at=turn.moment("occurred_at") or found.moment("created_at"),
            session=scope.label("session_id", "run_id") or name,
            external_id=derive_id("cognee", name, turn.label("occurred_at"), text),
            meta=found.pick("title"),
        )
        return (
            ParsedTurn(
                turn=said,
                conversation="",
                kind=Kind.TURN,
                place=_place(scope),
                user=scope.label("user_id"),
            )
            if text
            else None
        )

    yield from convert_all(found.objects("turns"), make, "A turn")


def _read_graph(graph: SourceObject) -> Iterator[ParsedTurn | UnreadablePiece]:
    names = {
        node.label("id"): node.label("name")
        for node in graph.objects("nodes")
        if node.label("type") in _NAMED
    }

    def make_node(found: SourceObject) -> ParsedTurn | None:
        record = {**found.data, "kind": "entity", "external_id": found.label("id")}
        if found.label("type") == "DocumentChunk":
            record |= {"kind": "document", "content": found.text("text")}
        return (
            _parse_record(SourceObject(found.line, record), {})
            if found.label("type") in (*_NAMED, "DocumentChunk")
            else None
        )

    def make_edge(found: SourceObject) -> ParsedTurn | None:
        source = found.label("source")
        target = found.label("target")
        name = found.label("relationship_name", "relationship")
        ends = {
            "external_id": f"{source}:{name}:{target}",
            "subject_ref": source,
            "object_ref": target,
        }
        record = {
            **found.data,
            **ends,
            "kind": "fact",
            "predicate": name,
            "fact_text": found.text("edge_text"),
        }
        return (
            _parse_fact(SourceObject(found.line, record), names)
            if source in names and target in names
            else None
        )

    yield from convert_all(graph.objects("nodes"), make_node, "A node")
    yield from convert_all(graph.objects("edges"), make_edge, "An edge")


def _scope(found: SourceObject) -> SourceObject:
    held = found.data.get("scope")
    return SourceObject(found.line, held if isinstance(held, Mapping) else {})


def _place(scope: SourceObject) -> tuple[str, ...]:
    return place_in(agent=scope.label("agent_id"))


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4
