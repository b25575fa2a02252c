"""Read graphs of Zep and Graphiti: episodes, facts with their validity, entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import role_and_speaker
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert,
    convert_all,
    make_statement,
    predicate_name,
)

_EDGES = ("edges", "facts", "entity_edges")
_NODES = ("nodes", "entities", "entity_nodes")
_EPISODES = ("episodes", "episodic_nodes", "messages")
_GRAPH = ("user_id", "user_uuid", "graph_id", "graph_uuid", "group_id")
_SPOKEN = re.compile(
    r"^\s*(?P<who>[^\n:()]{1,60}?)\s*(?:\((?P<role>\w+)\))?:\s+(?P<text>\S[\s\S]*)$"
)


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield episodes as messages, edges and summaries as facts.

    An edge that became invalid, or was given up, is history.
    """
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, data = value
        graph = SourceObject(line, data) if isinstance(data, Mapping) else None
        if graph is None or not any(
            isinstance(graph.data.get(name), list) for name in (*_EDGES, *_NODES, *_EPISODES)
        ):
            yield from convert(line, data, _parse_single, "An episode or a fact")
            continue
        names = {
            node.label("uuid", "id"): node.label("name")
            for key in _NODES
            for node in graph.objects(key)
        }
        for key in _EPISODES:
            yield from convert_all(graph.objects(key), _parse_episode, "An episode")
        for key in _EDGES:
            yield from convert_all(graph.objects(key), partial(_parse_edge, names=names), "A fact")
        for key in _NODES:
            yield from convert_all(graph.objects(key), _parse_node, "An entity")


def _parse_single(found: SourceObject) -> ParsedTurn | None:
    if "fact" in found.data:
        return _parse_edge(found, {})
    return (
        _parse_node(found)
        if "summary" in found.data and "content" not in found.data
        else _parse_episode(found)
    )


def _parse_edge(found: SourceObject, names: Mapping[str, str]) -> ParsedTurn:
    ends = [
        found.label(f"{end}_node_name") or names.get(found.label(f"{end}_node_uuid", end), "")
        for end in ("source", "target")
    ]
    invalid = found.moment("invalid_at")
    expired = found.moment("expired_at")
    valid = found.moment("valid_at")
    stated = StatedFields(
        subject=ends[0],
        predicate=predicate_name(found.label("name", "relation")),
        object=ends[1],
        valid_from=valid,
        valid_to=invalid,
        ended_at=(expired or invalid) if invalid else None,
        retired_at=None if invalid else expired,
    )
    turn = Turn(
        found.text("fact"),
        at=found.moment("created_at", "valid_at"),
        external_id=_identify(found),
        meta=found.pick("attributes", "group_id"),
        stated=stated,
    )
    return make_statement(turn, user=found.label(*_GRAPH))


def _parse_node(found: SourceObject) -> ParsedTurn | None:
    """Convert a node's summary; one without it only names something."""
    name = found.label("name")
    summary = found.text("summary", "description")
    if not (name and summary):
        return None
    tags = tuple(
        label
        for label in found.labels("labels")
        if label not in ("Entity", "Episodic", "Community")
    )
    turn = Turn(
        summary if name.casefold() in summary.casefold() else f"{name}: {summary}",
        at=found.moment("created_at"),
        external_id=_identify(found),
        meta={"derived": "summary", **found.pick("attributes", "group_id")},
        stated=StatedFields(subject=name, tags=tags),
    )
    return make_statement(turn, user=found.label(*_GRAPH))


def _parse_episode(found: SourceObject) -> ParsedTurn | None:
    text = found.text("content", "episode_body")
    source = found.label("source")
    if not text:
        return None
    spoken = _SPOKEN.match(text) if source == "message" and not found.label("role") else None
    who = found.label("role_name")
    role = found.label("role", "role_type")
    if spoken:
        who = spoken["who"]
        role = spoken["role"] or ""
    elif "thread_uuid" in found.data:
        who = who or found.label("name")
    turn = Turn(
        spoken["text"] if spoken else text,
        *role_and_speaker(role or None, who),
        at=found.moment("valid_at", "reference_time", "created_at"),
        session=found.label("thread_uuid", "thread_id", "session_id"),
        external_id=_identify(found),
        meta=found.pick("source_description", "group_id", "metadata"),
    )
    kind = Kind.NOTE if source in ("json", "text", "fact_triple") else Kind.TURN
    return ParsedTurn(turn, "", kind, user=found.label(*_GRAPH))


def _identify(found: SourceObject) -> str:
    name = found.label("uuid", "uuid_", "id")
    if not name:
        raise ValueError("it has no uuid")
    return name
