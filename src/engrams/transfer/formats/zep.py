"""Zep and Graphiti: graphs of episodes, facts with their validity, and entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from engrams.core import Kind, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert,
    convert_all,
    make_statement,
    normalize_predicate,
    title_text,
)
from engrams.transfer.formats.foreign_values import role_and_speaker
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_EDGE_LISTS = ("edges", "facts", "entity_edges")
_NODE_LISTS = ("nodes", "entities", "entity_nodes")
_EPISODE_LISTS = ("episodes", "episodic_nodes", "messages")
_OWNER_FIELDS = ("user_id", "user_uuid", "graph_id", "graph_uuid", "group_id")
_GENERIC_LABELS = ("Entity", "Episodic", "Community")
_SPOKEN_LINE = re.compile(
    r"^\s*(?P<speaker>[^\n:()]{1,60}?)\s*(?:\((?P<role>\w+)\))?:\s+(?P<text>\S[\s\S]*)$"
)
"""Graphiti keeps who spoke in the text: ``Ann (user): I moved``."""


def recognises(head: FileHead) -> bool:
    """Recognise edges, nodes and episodes, alone or in a graph."""
    shape = head.shape
    return (
        shape.has_rows({"fact", "name"}, {"fact", "uuid"}, {"uuid", "name", "summary"})
        or shape.has_rows({"uuid", "content", "role"}, {"uuid", "content", "source"})
        or shape.has_rows({"content"}, {"episode_body"}, lists=("episodes", "episodic_nodes"))
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield episodes as messages, edges and summaries as facts.

    An edge that became invalid, or was given up, is history.
    """
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        graph = ForeignObject(line, data) if isinstance(data, Mapping) else None
        if graph is None or not any(
            isinstance(graph.data.get(name), list)
            for name in (*_EDGE_LISTS, *_NODE_LISTS, *_EPISODE_LISTS)
        ):
            yield from convert(line, data, _parse_single, "An episode or a fact")
            continue
        names = {
            node.label("uuid", "id"): node.label("name")
            for key in _NODE_LISTS
            for node in graph.objects(key)
        }
        for key in _EPISODE_LISTS:
            yield from convert_all(graph.objects(key), _parse_episode, "An episode")
        for key in _EDGE_LISTS:
            yield from convert_all(graph.objects(key), partial(_parse_edge, names=names), "A fact")
        for key in _NODE_LISTS:
            yield from convert_all(graph.objects(key), _parse_node, "An entity")


def _parse_single(item: ForeignObject) -> ParsedTurn | None:
    """Convert an object that stands alone in the file."""
    if "fact" in item.data:
        return _parse_edge(item, {})
    if "summary" in item.data and "content" not in item.data:
        return _parse_node(item)
    return _parse_episode(item)


def _parse_edge(edge: ForeignObject, names: Mapping[str, str]) -> ParsedTurn:
    """Convert a fact.

    ``names``: of entities by id. Zep dates two ends of a fact: since ``invalid_at`` it is not true
    any more, and at ``expired_at`` that became known. A fact that only expired was withdrawn.
    """
    invalid_at = edge.moment("invalid_at")
    expired_at = edge.moment("expired_at")
    stated = StatedFields(
        subject=_name_end(edge, "source", names),
        predicate=normalize_predicate(edge.label("name", "relation")),
        object=_name_end(edge, "target", names),
        valid_from=edge.moment("valid_at"),
        valid_to=invalid_at,
        ended_at=(expired_at or invalid_at) if invalid_at else None,
        retired_at=None if invalid_at else expired_at,
    )
    turn = Turn(
        edge.text("fact"),
        at=edge.moment("created_at", "valid_at"),
        external_id=_find_id(edge),
        meta=edge.pick("attributes", "group_id"),
        stated=stated,
    )
    return make_statement(turn, user=edge.label(*_OWNER_FIELDS))


def _name_end(edge: ForeignObject, end: str, names: Mapping[str, str]) -> str:
    """Return the name of an edge's source or target; empty: unknown."""
    node_id = edge.label(f"{end}_node_uuid", end)
    return edge.label(f"{end}_node_name") or names.get(node_id, "")


def _parse_node(node: ForeignObject) -> ParsedTurn | None:
    """Convert an entity's summary; None for an entity that is only named."""
    name = node.label("name")
    summary = node.text("summary", "description")
    if not (name and summary):
        return None
    tags = tuple(label for label in node.labels("labels") if label not in _GENERIC_LABELS)
    turn = Turn(
        title_text(name, summary),
        at=node.moment("created_at"),
        external_id=_find_id(node),
        meta={"derived": "summary", **node.pick("attributes", "group_id")},
        stated=StatedFields(subject=name, tags=tags),
    )
    return make_statement(turn, user=node.label(*_OWNER_FIELDS))


def _parse_episode(episode: ForeignObject) -> ParsedTurn | None:
    text = episode.text("content", "episode_body")
    if not text:
        return None
    source = episode.label("source")
    speaker = episode.label("role_name")
    role = episode.label("role", "role_type")
    spoken_line = None
    if source == "message" and not episode.label("role"):
        spoken_line = _SPOKEN_LINE.match(text)
    if spoken_line:
        text = spoken_line["text"]
        speaker = spoken_line["speaker"]
        role = spoken_line["role"] or ""
    elif "thread_uuid" in episode.data:
        speaker = speaker or episode.label("name")
    turn_role, turn_speaker = role_and_speaker(role or None, speaker)
    turn = Turn(
        text=text,
        role=turn_role,
        speaker=turn_speaker,
        at=episode.moment("valid_at", "reference_time", "created_at"),
        session=episode.label("thread_uuid", "thread_id", "session_id"),
        external_id=_find_id(episode),
        meta=episode.pick("source_description", "group_id", "metadata"),
    )
    kind = Kind.NOTE if source in ("json", "text", "fact_triple") else Kind.TURN
    return ParsedTurn(turn, kind=kind, user=episode.label(*_OWNER_FIELDS))


def _find_id(item: ForeignObject) -> str:
    """Return an object's id. ValueError: it has none."""
    name = item.label("uuid", "uuid_", "id")
    if not name:
        raise ValueError("it has no uuid")
    return name
