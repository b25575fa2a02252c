"""Read the knowledge graph of the MCP reference memory server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import clean_label, derive_id
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece


def read_lines(
    lines: Iterable[tuple[int, str] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Read its file: JSONL with a ``type`` in each line."""
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
        elif line[1].strip(" \t\r\0"):
            try:
                yield from _read_entry(line[0], parse(line[1]))
            except MalformedJsonError as problem:
                yield UnreadablePiece(line[0], f"This line is {problem}.", broken=True)


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Read a ``read_graph`` answer: one object with entities and relations."""
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, graph = value
        held = graph if isinstance(graph, dict) else {}
        lists = {"entity": held.get("entities"), "relation": held.get("relations")}
        if not any(isinstance(entries, list) for entries in lists.values()):
            yield UnreadablePiece(line, "Entities or relations were expected.")
        for kind, entries in lists.items():
            for data in entries if isinstance(entries, list) else ():
                yield from _read_entry(
                    line, {**data, "type": kind} if isinstance(data, dict) else data
                )


def _read_entry(line: int, data: Json) -> Iterator[ParsedTurn | UnreadablePiece]:
    match data:
        case {"type": "entity"}:
            yield from _read_entity(line, data)
        case {"type": "relation"}:
            yield _parse_relation(line, data)
        case _:
            yield UnreadablePiece(line, "An entity or a relation was expected.")


def _read_entity(line: int, data: dict[str, Any]) -> Iterator[ParsedTurn | UnreadablePiece]:
    name = clean_label(data.get("name"))
    kind = clean_label(data.get("entityType"))
    seen = data.get("observations")
    if not name or not isinstance(seen, list | type(None)):
        yield UnreadablePiece(
            line, "An entity with a name and a list of observations was expected."
        )
        return
    tags = (kind,) if kind else ()
    meta = {"entity": name, **({"tags": list(tags)} if tags else {})}
    texts = [clean_label(text) for text in seen or ()]
    for text in texts:
        if text:
            whole = text if text.casefold().startswith(name.casefold()) else f"{name}: {text}"
            turn = Turn(
                whole,
                external_id=derive_id("observation", name, text),
                meta={**meta, "triple": [name, "", ""]},
            )
            yield ParsedTurn(
                replace(turn, stated=StatedFields(subject=name, tags=tags)), "", Kind.FACT
            )
        else:
            yield UnreadablePiece(line, f"An observation of {name} is no text.")
    if kind and not any(texts):
        turn = Turn(
            f"{name} is a {kind}",
            external_id=derive_id("entity", name, kind),
            meta={**meta, "triple": [name, "is", kind]},
        )
        yield ParsedTurn(
            replace(turn, stated=StatedFields(name, "is", kind, tags=tags)), "", Kind.FACT
        )


def _parse_relation(line: int, data: dict[str, Any]) -> ParsedTurn | UnreadablePiece:
    ends = [clean_label(data.get(name)) for name in ("from", "relationType", "to")]
    if not all(ends):
        return UnreadablePiece(line, "A relation with from, relationType and to was expected.")
    text = " ".join((ends[0], ends[1].replace("_", " "), ends[2]))
    stated = StatedFields(ends[0], ends[1], ends[2])
    return ParsedTurn(
        Turn(text, external_id=derive_id("relation", *ends), meta={"triple": ends}, stated=stated),
        "",
        Kind.FACT,
    )
