"""Knowledge graph of the MCP reference memory server: its file, and answers of ``read_graph``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.decode import DecodedTextReader
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_values import clean_label, derive_id
from engrams.transfer.formats.json_stream import MalformedJsonError, parse, read_elements
from engrams.transfer.formats.pieces import (
    ForeignPiece,
    JsonElement,
    ParsedTurn,
    TextLine,
    UnreadablePiece,
)

_TYPED_LINE = re.compile(r'\s*\{[^\n]*"type"[^\n]*\}[ \t\r]*(?:\n|$)')


def recognises(head: FileHead) -> bool:
    """Recognise entities and relations, one a line or as lists of one object."""
    shape = head.shape
    return (
        {"type", "name", "entityType"} <= shape.keys
        or {"type", "from", "to", "relationType"} <= shape.keys
        or shape.has_list("entities")
    )


def read_text(text: DecodedTextReader) -> Iterator[ForeignPiece]:
    """Read the server's file, or an answer of ``read_graph``."""
    if _TYPED_LINE.match(text.head):
        yield from read_lines(text.lines())
    else:
        yield from read(read_elements(text.chunks()))


def read_lines(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Read the server's file: an entity or a relation each line."""
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        number, text = line
        if not text.strip(" \t\r\0"):
            continue
        try:
            yield from _read_entry(number, parse(text))
        except MalformedJsonError as problem:
            yield UnreadablePiece(number, f"This line is {problem}.", broken=True)


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Read answers of ``read_graph``: objects with entities and relations."""
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, graph = element
        fields = graph if isinstance(graph, dict) else {}
        lists = {"entity": fields.get("entities"), "relation": fields.get("relations")}
        if not any(isinstance(entries, list) for entries in lists.values()):
            yield UnreadablePiece(line, "Entities or relations were expected.")
        for entry_type, entries in lists.items():
            for entry in entries if isinstance(entries, list) else ():
                typed = {**entry, "type": entry_type} if isinstance(entry, dict) else entry
                yield from _read_entry(line, typed)


def _read_entry(line: int, data: Json) -> Iterator[ForeignPiece]:
    match data:
        case {"type": "entity"}:
            yield from _read_entity(line, data)
        case {"type": "relation"}:
            yield _parse_relation(line, data)
        case _:
            yield UnreadablePiece(line, "An entity or a relation was expected.")


def _read_entity(line: int, data: dict[str, Any]) -> Iterator[ForeignPiece]:
    """Yield an entity's observations as facts; without any, that it is of its type."""
    name = clean_label(data.get("name"))
    entity_type = clean_label(data.get("entityType"))
    observations = data.get("observations")
    if not name or not isinstance(observations, list | type(None)):
        yield UnreadablePiece(
            line, "An entity with a name and a list of observations was expected."
        )
        return
    tags = (entity_type,) if entity_type else ()
    meta: dict[str, Any] = {"entity": name}
    if tags:
        meta["tags"] = list(tags)
    texts = [clean_label(observation) for observation in observations or ()]
    for text in texts:
        if not text:
            yield UnreadablePiece(line, f"An observation of {name} is not text.")
            continue
        names_itself = text.casefold().startswith(name.casefold())
        yield ParsedTurn(
            Turn(
                text if names_itself else f"{name}: {text}",
                external_id=derive_id("observation", name, text),
                meta={**meta, "triple": [name, "", ""]},
                stated=StatedFields(subject=name, tags=tags),
            ),
            kind=Kind.FACT,
        )
    if entity_type and not any(texts):
        yield ParsedTurn(
            Turn(
                f"{name} is a {entity_type}",
                external_id=derive_id("entity", name, entity_type),
                meta={**meta, "triple": [name, "is", entity_type]},
                stated=StatedFields(subject=name, predicate="is", object=entity_type, tags=tags),
            ),
            kind=Kind.FACT,
        )


def _parse_relation(line: int, data: dict[str, Any]) -> ForeignPiece:
    triple = [clean_label(data.get(name)) for name in ("from", "relationType", "to")]
    if not all(triple):
        return UnreadablePiece(line, "A relation with from, relationType and to was expected.")
    subject, predicate, object = triple
    return ParsedTurn(
        Turn(
            f"{subject} {predicate.replace('_', ' ')} {object}",
            external_id=derive_id("relation", *triple),
            meta={"triple": triple},
            stated=StatedFields(subject=subject, predicate=predicate, object=object),
        ),
        kind=Kind.FACT,
    )
