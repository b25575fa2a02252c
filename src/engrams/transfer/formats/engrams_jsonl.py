"""Exchange format of engrams: records, their history and their edges as JSONL.

A header line, then one object per line: ``record``, ``history`` or ``edge``. History and outgoing
edges follow their record. Empty fields are left out; everything else is written, so that a file
does not depend on the defaults of its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from engrams.core import (
    Edge,
    EdgeType,
    Evidence,
    HistoryEntry,
    Json,
    Kind,
    Layer,
    Meta,
    Provenance,
    Record,
    Scope,
    Status,
    Tier,
)
from engrams.core.clock import parse_time
from engrams.errors import EngramsError, InputError
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.pieces import (
    ExportedEdge,
    ExportedRecord,
    ExportLine,
    ExportPiece,
    TextLine,
    UnreadablePiece,
)

VERSION = 1
"""Version that is written; files of a newer one are refused."""
_MAX_ATTACHED = 10_000
"""Edges or history entries that are held for one record."""
_TIMES = frozenset(
    {"recorded_at", "valid_from", "valid_to", "retired_at", "ended_at", "last_accessed"}
)
_LISTS = frozenset({"tags", "triggers", "steps"})
_ENUMS = {"kind": Kind, "layer": Layer, "tier": Tier, "status": Status}
_SHARES = frozenset({"importance", "confidence", "trust"})
_COUNTS = frozenset({"strength", "access_count", "version"})
_FIELDS = {field.name for field in fields(Record)}
_REQUIRED = ("id", "scope", "kind", "text", "recorded_at")
_PROVENANCE_TEXTS = ("channel", "extractor", "prompt", "reason")


def recognises(head: FileHead) -> bool:
    """Recognise an export by its header, or a part of one by its lines."""
    shape = head.shape
    return shape.root == "{" and (
        "engrams" in shape.keys or shape.keys in ({"record"}, {"edge"}, {"history"})
    )


def to_lines(
    items: Iterable[ExportedRecord | ExportedEdge | Record], header: Meta
) -> Iterator[ExportLine]:
    """Yield the lines of an export, header first."""
    yield _to_line({"engrams": VERSION, **header}), 0
    for item in items:
        if isinstance(item, ExportedEdge):
            yield _to_line({"edge": _edge_to_json(item.edge)}), 0
            continue
        exported = item if isinstance(item, ExportedRecord) else ExportedRecord(item)
        yield _to_line({"record": record_to_json(exported.record)}), 1
        for entry in exported.history:
            yield _to_line({"history": _history_to_json(entry)}), 0
        for edge in exported.edges:
            yield _to_line({"edge": _edge_to_json(edge)}), 0


def read(lines: Iterable[TextLine]) -> Iterator[ExportPiece]:
    """Yield an export's records, each with the history and edges behind it.

    InputError: a newer engrams wrote it.
    """
    record: Record | None = None
    edges: list[Edge] = []
    history: list[HistoryEntry] = []
    for line in lines:
        piece = _parse_line(line)
        match piece:
            case None:
                continue
            case UnreadablePiece():
                yield piece
            case Record():
                if record:
                    yield ExportedRecord(record, tuple(edges), tuple(history))
                record = piece
                edges = []
                history = []
            case Edge() if record and piece.source == record.id and len(edges) < _MAX_ATTACHED:
                edges.append(piece)
            case Edge():
                if record:
                    yield ExportedRecord(record, tuple(edges), tuple(history))
                record = None
                yield ExportedEdge(piece)
            case HistoryEntry() if (
                record and piece.record == record.id and len(history) < _MAX_ATTACHED
            ):
                history.append(piece)
            case HistoryEntry():
                yield UnreadablePiece(
                    line[0] if isinstance(line, tuple) else 0,
                    "This history belongs to no record before it.",
                )
    if record:
        yield ExportedRecord(record, tuple(edges), tuple(history))


def record_to_json(record: Record) -> dict[str, Json]:
    """Convert a record to JSON values without empty fields."""
    data: dict[str, Json] = {}
    for field in fields(Record):
        value = getattr(record, field.name)
        if value in (None, "", (), {}) and field.name not in _REQUIRED:
            continue
        match value:
            case Scope():
                value = list(value.labels)
            case datetime():
                value = value.isoformat()
            case Provenance():
                parts = {name: getattr(value, name) for name in (*_PROVENANCE_TEXTS, "files")}
                value = {name: part for name, part in parts.items() if part}
            case tuple() if field.name == "evidence":
                value = [
                    {"quote": quote.quote, "source": quote.source, "speaker": quote.speaker}
                    for quote in value
                ]
        data[field.name] = value
    return data


def record_from_json(data: Json) -> Record:
    """Convert JSON values to a record. ValueError names the wrong field."""
    values = _require_object(data, "record")
    for name in _REQUIRED:
        if name not in values:
            raise ValueError(f"the record has no {name}")
    return Record(
        **{name: _parse_value(name, value) for name, value in values.items() if name in _FIELDS}
    )


def _parse_value(name: str, value: Json) -> Any:
    if name in _TIMES:
        return _require_time(value, name)
    if name in _LISTS:
        return _require_texts(value, name)
    if name in _ENUMS:
        return _ENUMS[name](value)
    if name in _SHARES:
        return _require_number(value, name)
    if name in _COUNTS:
        return _require_count(value, name)
    match name:
        case "scope":
            return _require_scope(value)
        case "meta":
            return _require_object(value, name)
        case "evidence":
            return tuple(_evidence_from_json(quote) for quote in _require_list(value, name))
        case "provenance":
            parts = _require_object(value, name)
            texts = {part: _require_text(parts.get(part, ""), part) for part in _PROVENANCE_TEXTS}
            return Provenance(**texts, files=_require_texts(parts.get("files", []), "files"))
        case _:
            return _require_text(value, name)


def _parse_line(line: TextLine) -> Record | Edge | HistoryEntry | UnreadablePiece | None:
    """Parse one line; None for a blank one and the header. InputError: its version is newer."""
    if isinstance(line, UnreadablePiece):
        return line
    number, text = line
    if not text.strip(" \t\r\0"):
        return None
    try:
        data = parse(text)
        match data:
            case {"engrams": version}:
                _check_version(version)
                return None
            case {"record": record}:
                return record_from_json(record)
            case {"edge": edge}:
                return _edge_from_json(edge)
            case {"history": entry}:
                return _history_from_json(entry)
            case _:
                return UnreadablePiece(number, "A record, an edge or a history entry was expected.")
    except MalformedJsonError as problem:
        return UnreadablePiece(number, f"This line is {problem}.", broken=True)
    except InputError:
        raise
    except (ValueError, EngramsError) as problem:
        return UnreadablePiece(number, f"This piece cannot be used: {problem}.")


def _check_version(version: Json) -> None:
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"The export has format {version!r}; this engrams reads up to {VERSION}.",
            hint="Install a newer engrams.",
        )


def _edge_to_json(edge: Edge) -> dict[str, Json]:
    return {
        "owner": list(edge.owner.labels),
        "source": edge.source,
        "target": edge.target,
        "type": edge.type,
        "weight": edge.weight,
        "count": edge.count,
    }


def _edge_from_json(data: Json) -> Edge:
    values = _require_object(data, "edge")
    source = _require_text(values.get("source"), "source")
    target = _require_text(values.get("target"), "target")
    weight = _require_number(values.get("weight", 1.0), "weight")
    count = _require_count(values.get("count", 1), "count")
    return Edge(
        owner=_require_scope(values.get("owner")),
        source=source,
        target=target,
        type=EdgeType(_require_text(values.get("type"), "type")),
        weight=weight,
        count=count,
    )


def _history_to_json(entry: HistoryEntry) -> dict[str, Json]:
    data = {field.name: getattr(entry, field.name) for field in fields(HistoryEntry)}
    return {
        **data,
        "at": entry.at.isoformat(),
        "before": dict(entry.before),
        "after": dict(entry.after),
    }


def _history_from_json(data: Json) -> HistoryEntry:
    values = _require_object(data, "history")
    texts = {
        name: _require_text(values.get(name, ""), name)
        for name in ("record", "action", "actor", "reason")
    }
    before, after = (_require_object(values.get(name, {}), name) for name in ("before", "after"))
    at = _require_time(values.get("at"), "at")
    version = _require_count(values.get("version"), "version")
    return HistoryEntry(**texts, version=version, at=at, before=before, after=after)


def _evidence_from_json(data: Json) -> Evidence:
    values = _require_object(data, "evidence")
    return Evidence(
        **{
            name: _require_text(values.get(name, ""), name)
            for name in ("quote", "source", "speaker")
        }
    )


def _to_line(data: Mapping[str, Json]) -> str:
    text = json.dumps(data, ensure_ascii=False, default=_json_default, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate cannot be written but as an escape
        text = json.dumps(data, default=_json_default, separators=(",", ":"))
    return text + "\n"


def _json_default(value: object) -> Json:
    match value:
        case datetime():
            return value.isoformat()
        case Scope():
            return list(value.labels)
        case Mapping():
            return dict(value)
        case _:
            raise InputError(
                f"{type(value).__name__} is not a JSON value.",
                hint="Metadata may contain JSON values only.",
            )


def _require_object(value: Json, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _require_list(value: Json, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return value


def _require_text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def _require_texts(value: Json, name: str) -> tuple[str, ...]:
    return tuple(_require_text(item, name) for item in _require_list(value, name))


def _require_number(value: Json, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is no number")
    return float(value)


def _require_count(value: Json, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is no whole number")
    return value


def _require_time(value: Json, name: str) -> datetime:
    return parse_time(_require_text(value, name))


def _require_scope(value: Json) -> Scope:
    return Scope(_require_texts(value, "scope"))
