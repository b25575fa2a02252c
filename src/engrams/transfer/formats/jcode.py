"""jcode: memories with their tags, links and status, as its files under ``~/.jcode/memory``.

A graph (``graph_version``) holds memories by id and edges by the id of their source; an older store
holds a list of ``entries``. Clusters are not read: topics are made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from engrams.core import (
    PREREQUISITES,
    WARNINGS,
    EdgeType,
    Json,
    Kind,
    StatedFields,
    Turn,
)
from engrams.core.meta_keys import REINFORCEMENTS
from engrams.transfer.formats.decode import DecodedTextReader
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import ForeignObject, convert, make_statement
from engrams.transfer.formats.foreign_values import clean_label
from engrams.transfer.formats.json_stream import read_elements
from engrams.transfer.formats.pieces import ForeignLink, ForeignPiece, ParsedTurn, UnreadablePiece

_ENTRY_KEYS = {"id", "content", "category", "strength"}
_KINDS = {
    "preference": Kind.PREFERENCE,
    "correction": Kind.CORRECTION,
    "procedure": Kind.PROCEDURE,
    "negative": Kind.NEGATIVE,
}
"""Category to kind; a memory of any other category is a fact."""
_LINK_TYPES = {
    "relates_to": EdgeType.RELATES_TO,
    "supersedes": EdgeType.SUPERSEDES,
    "contradicts": EdgeType.CONTRADICTS,
    "derived_from": EdgeType.DERIVED_FROM,
}
_TAG_NODE = "tag:"


def recognises(head: FileHead) -> bool:
    """Recognise a graph by its version, or a store by the keys of its first entry."""
    return (head.shape.has_object("memories") and "graph_version" in head.shape.keys) or (
        head.shape.has_rows(_ENTRY_KEYS, lists=("", "entries"))
    )


def read(text: DecodedTextReader) -> Iterator[ForeignPiece]:
    """Yield each memory with its outgoing links."""
    for element in read_elements(text.chunks(), "entries"):
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        if isinstance(data, dict) and isinstance(data.get("memories"), dict):
            yield from _read_graph(ForeignObject(line, data))
        elif isinstance(data, dict) and "content" not in data:
            continue  # the metadata behind the entries
        else:
            yield from convert(line, data, _parse_entry)


def _read_graph(graph: ForeignObject) -> Iterator[ForeignPiece]:
    edges = graph.data.get("edges")
    for entry_id, entry in graph.data["memories"].items():
        listed = edges.get(entry_id) if isinstance(edges, dict) else None
        parse = partial(_parse_entry, edges=listed if isinstance(listed, list) else ())
        yield from convert(graph.line, entry, parse)


def _parse_entry(entry: ForeignObject, edges: Iterable[Any] = ()) -> ParsedTurn:
    """Convert a memory. ValueError: it has no text or no id, or an odd time."""
    entry_id = entry.label("id")
    if not entry_id:
        raise ValueError("it has no id")
    category = _read_category(entry)
    tag_nodes = [clean_label(edge.get("target")) for edge in edges if _is_of_kind(edge, "has_tag")]
    tags = (*entry.labels("tags"), *(node.removeprefix(_TAG_NODE) for node in tag_nodes))
    is_active = entry.data.get("active", True) is not False
    repetitions = [_parse_repetition(item) for item in entry.objects("reinforcements")]
    turn = Turn(
        entry.text("content"),
        at=entry.moment("created_at"),
        session=entry.label("session_id", "source"),
        external_id=entry_id,
        meta=entry.pick("trust", "provenance", "file_paths", "citation", PREREQUISITES, WARNINGS)
        | ({REINFORCEMENTS: repetitions} if repetitions else {}),
        stated=StatedFields(
            category="" if category in ("fact", *_KINDS) else category,
            tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
            retired_at=None if is_active else entry.moment("updated_at", "created_at"),
            confidence=entry.share("confidence"),
            strength=entry.count("strength"),
            access_count=entry.count("access_count"),
            last_accessed=entry.moment("last_accessed"),
            triggers=(*entry.labels("trigger_patterns"), *entry.labels("trigger")),
            steps=entry.labels("steps"),
        ),
    )
    piece = make_statement(turn, kind=_KINDS.get(category, Kind.FACT))
    successor = entry.label("superseded_by")
    ending = [ForeignLink(successor, EdgeType.SUPERSEDES, is_incoming=True)] if successor else []
    return piece.linked([*_read_links(edges), *ending])


def _parse_repetition(item: ForeignObject) -> dict[str, Json]:
    """Convert a reinforcement. ValueError: an odd time.

    It names its message by a position in the session, which is no id here.
    """
    at = item.moment("timestamp")
    return {
        "session": item.label("session_id"),
        "at": at.isoformat() if at else "",
        "message_index": item.count("message_index"),
    }


def _read_category(entry: ForeignObject) -> str:
    """Return the category in lower case; one of the user's own is an object ``{"custom": NAME}``."""
    own = entry.inner("category")
    return (own.label("custom") if own else entry.label("category", "memory_type")).lower()


def _read_links(edges: Iterable[Any]) -> Iterator[ForeignLink]:
    for edge in edges:
        for name, edge_type in _LINK_TYPES.items():
            target = clean_label(edge.get("target")) if _is_of_kind(edge, name) else ""
            if target:
                weight = ForeignObject(0, edge).share("weight")
                yield ForeignLink(target, edge_type, 1.0 if weight is None else weight)


def _is_of_kind(edge: Any, name: str) -> bool:
    return isinstance(edge, dict) and edge.get("kind") == name
