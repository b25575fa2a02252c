"""Convert one memory to one file and back, with its links.

The text alone is the body; every other field that differs from its default is front matter.
``parse_entry(render_entry(record, edges))`` gives equal fields and edges.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from typing import Any

from engrams.core import (
    LAYER_OF,
    Edge,
    EdgeType,
    Evidence,
    Json,
    Kind,
    Layer,
    Provenance,
    Record,
    Scope,
    Status,
    Tier,
)
from engrams.core.clock import parse_time
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.vault.files import front_matter
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.sync_state import VaultStateDatabase
from engrams.vault.files.vault_paths import id_tail, path_key

NAMES: Mapping[str, str] = {
    "id": "id",
    "kind": "kind",
    "scope": "scope",
    "status": "status",
    "created_at": "recorded_at",
    "role": "role",
    "said_by": "role",
    "speaker": "speaker",
    "conversation_id": "session",
    "source_id": "",
    "summary_kind": "category",
    "category": "category",
    "subject": "subject",
    "predicate": "predicate",
    "object": "object",
    "tags": "tags",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "ended_at": "ended_at",
    "retired_at": "retired_at",
    "replaced_by": "superseded_by",
    "layer": "layer",
    "tier": "tier",
    "importance": "importance",
    "confidence": "confidence",
    "trust": "trust",
    "strength": "strength",
    "version": "version",
    "external_id": "external_id",
    "caption": "caption",
    "summary": "summary",
    "triggers": "triggers",
    "steps": "steps",
    "evidence": "evidence",
    "provenance": "provenance",
    "access_count": "access_count",
    "last_accessed": "last_accessed",
    "meta": "meta",
}
"""Names in the front matter, in their order, and the fields they stand for.

``source_id`` is told, and not read. The ``role`` of a statement is ``memory``; who said it stands
in ``said_by``.
"""

KNOWN = frozenset(NAMES) | frozenset(EdgeType)
UNVERSIONED = frozenset({"id", "version", "access_count", "last_accessed"})
"""Fields that a hand edit cannot set."""

_MEMORY = "memory"
_PLAIN = Record(
    id="",
    scope=Scope(("-",)),
    kind=Kind.FACT,
    text="",
    recorded_at=datetime(1970, 1, 1, tzinfo=UTC),
)
_DEFAULTS = {item.name: getattr(_PLAIN, item.name) for item in fields(Record)}
_NEEDED = ("id", "kind", "scope", "recorded_at", "layer", "text")
_TIMES = frozenset(
    {"recorded_at", "valid_from", "valid_to", "ended_at", "retired_at", "last_accessed"}
)
_LISTS = frozenset({"tags", "triggers", "steps"})
_SHARES = frozenset({"importance", "confidence", "trust"})
_COUNTS = frozenset({"strength", "access_count", "version"})
_ENUMS: Mapping[str, Callable[[Any], Any]] = {
    "kind": Kind,
    "layer": Layer,
    "tier": Tier,
    "status": Status,
}
_LINK = re.compile(r"\[\[([^\]|\n]*)(?:\|([^\]|\n]*))?\]\]")
_LINKABLE = re.compile(r"[^\s|\[\]#^\"\\](?:[^|\[\]#^\"\\\n\r]*[^\s|\[\]#^\"\\])?")


@dataclass(frozen=True, slots=True)
class RecordFileLink:
    """Outgoing edge; ``target`` is empty where only a path is given."""

    type: EdgeType
    target: str
    weight: float = 1.0
    count: int = 1
    path: str = ""


@dataclass(frozen=True, slots=True)
class RecordFileContent:
    """Content of a file; ``fields``: those it names, and ``text``."""

    fields: Mapping[str, Any]
    links: tuple[RecordFileLink, ...] = ()
    loose: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.fields.get("id", ""))

    def to_record(self, fallback: Mapping[str, Any]) -> Record:
        """Return the described record.

        ``fallback``: id, kind, scope, time and layer where the file leaves them open.
        """
        given = {name: value for name, value in fallback.items() if name in _NEEDED}
        values = {**_DEFAULTS, **given, **self.fields}
        if "layer" not in self.fields and ("layer" not in given or "kind" in self.fields):
            values["layer"] = LAYER_OF[values["kind"]]
        return Record(**values)


def render_entry(
    record: Record,
    links: Sequence[RecordFileLink],
    old: str = "",
    loose: Mapping[str, tuple[Json, ...]] | None = None,
) -> str:
    """Render a record's file; keep what ``old`` says beyond its fields."""
    items = [*_front_items(record), *_link_items(links, loose or {})]
    try:
        before, _ = front_matter.split(old)
    except FrontMatterError:
        before = None
    if before is None:
        # Links by id, as people write them, resolve in editors that know aliases.
        return front_matter.join(front_matter.dump([*items, ("aliases", [record.id])]), record.text)
    return front_matter.join(front_matter.revise(before, items, KNOWN), record.text)


def parse_entry(text: str) -> RecordFileContent:
    """Parse a file's text. FrontMatterError: the front matter is unreadable."""
    head, body = front_matter.split(text)
    held = front_matter.load(head) if head is not None else {}
    found: dict[str, Any] = {"text": body}
    for name, value in held.items():
        target = NAMES.get(name, "")
        if target and value is not None and (name, value) != ("role", _MEMORY):
            found[target] = _parse_value(name, target, value)
    links: list[RecordFileLink] = []
    loose: dict[str, tuple[Json, ...]] = {}
    for type in EdgeType:
        told = held.get(type)
        if isinstance(told, list):
            values = told
        elif told is None:
            values = []
        else:
            values = [told]
        links += [link for value in values if (link := _parse_link(type, value)) is not None]
        rest = tuple(value for value in values if _parse_link(type, value) is None)
        if rest:
            loose[type] = rest
    return RecordFileContent(found, tuple(links), loose)


def parse_field(name: str, value: Json) -> Any:
    """Parse a field's JSON form. FrontMatterError: it is no such value."""
    return _parse_value(name, name, value)


def to_link(edge: Edge, path: str = "") -> RecordFileLink:
    """Convert an edge to a link; ``path``: relative, of its target."""
    return RecordFileLink(
        type=edge.type, target=edge.target, weight=edge.weight, count=edge.count, path=path
    )


def _front_items(record: Record) -> list[tuple[str, Json]]:
    items: list[tuple[str, Json]] = []
    category = "summary_kind" if record.kind is Kind.SUMMARY else "category"
    for name, target in NAMES.items():
        if name == "source_id":
            if record.evidence and record.evidence[0].source:
                items.append((name, record.evidence[0].source))
            continue
        if target == "category" and name != category:
            continue
        if target == "role" and name != ("role" if record.layer is Layer.EPISODIC else "said_by"):
            items += [(name, _MEMORY)] if name == "role" else []
            continue
        value = getattr(record, target)
        default = LAYER_OF[record.kind] if target == "layer" else _DEFAULTS[target]
        if value != default or (target in _NEEDED and target != "layer"):
            items.append((name, _to_json(value)))
    return items


def _to_json(value: Any) -> Json:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Scope():
            return value.key
        case Provenance():
            return {
                name: _to_json(held)
                for name in Provenance.__slots__
                if (held := getattr(value, name)) != getattr(Provenance(), name)
            }
        case Evidence():
            return {name: held for name in Evidence.__slots__ if (held := getattr(value, name))}
        case tuple():
            return [_to_json(item) for item in value]
        case Mapping():
            return dict(value)
        case str():
            return str(value)
        case _:
            return value


def _link_items(
    links: Sequence[RecordFileLink], loose: Mapping[str, tuple[Json, ...]]
) -> list[tuple[str, Json]]:
    found: dict[str, list[Json]] = {}
    for item in sorted(links, key=lambda item: (item.type, item.target)):
        plain = _LINKABLE.fullmatch(item.target) is not None
        arrow = (
            f"[[{item.path}|{item.target}]]"
            if plain and item.path and _LINKABLE.fullmatch(item.path)
            else ""
        )
        if item.weight == 1.0 and item.count == 1 and plain:
            found.setdefault(item.type, []).append(arrow or item.target)
        else:
            more: dict[str, Json] = {"link": arrow} if arrow else {}
            found.setdefault(item.type, []).append(
                {**more, "to": item.target, "weight": item.weight, "count": item.count}
            )
    for name, values in loose.items():
        found.setdefault(name, []).extend(values)
    return [(str(type), found[type]) for type in EdgeType if type in found]


def _parse_link(type: EdgeType, value: Json) -> RecordFileLink | None:
    match value:
        case str() if found := _LINK.fullmatch(value.strip()):
            return RecordFileLink(type, (found[2] or "").strip(), path=found[1])
        case str() if _LINKABLE.fullmatch(value):
            return RecordFileLink(type, value)
        case {"to": str(target)} if target:
            weight = value.get("weight", 1.0)
            count = value.get("count", 1)
            shown = _LINK.fullmatch(str(value.get("link", "")))
            if (
                isinstance(weight, int | float)
                and isinstance(count, int)
                and not isinstance(weight, bool)
                and not isinstance(count, bool)
            ):
                return RecordFileLink(
                    type=type,
                    target=target,
                    weight=float(weight),
                    count=count,
                    path=shown[1] if shown else "",
                )
    return None


def _parse_value(name: str, target: str, value: Json) -> Any:
    try:
        if target in _TIMES:
            return None if value is None else parse_time(_parse_text(value)).astimezone(UTC)
        if target in _ENUMS:
            return _ENUMS[target](_parse_text(value))
        if target in _LISTS:
            return tuple(
                _parse_text(item) for item in (value if isinstance(value, list) else [value])
            )
        if target in _SHARES:
            return _parse_share(value)
        if target in _COUNTS:
            return _parse_count(value)
        match target:
            case "scope":
                return Scope.parse(_parse_text(value))
            case "evidence":
                return tuple(_parse_evidence(item) for item in value)
            case "provenance":
                return _parse_provenance(value)
            case "meta":
                return dict(value)
            case _:
                return _parse_text(value)
    except (TypeError, ValueError, AttributeError, EngramsError) as problem:
        raise FrontMatterError(f"{name}: {problem}") from None


def _parse_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    # A text may look like a number: tags: [2024].
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise TypeError("a text was expected")


def _parse_share(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TypeError("a number from 0 to 1 was expected")
    return float(value)


def _parse_count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("a whole number was expected")
    return value


def _parse_evidence(value: Json) -> Evidence:
    return Evidence(*(_parse_text(value.get(name, "")) for name in ("quote", "source", "speaker")))


def _parse_provenance(value: Json) -> Provenance:
    texts = {
        name: _parse_text(held)
        for name, held in value.items()
        if name in ("channel", "extractor", "prompt", "reason")
    }
    return Provenance(**texts, files=tuple(_parse_text(item) for item in value.get("files", ())))


def resolve_links(
    entry: RecordFileContent, path: str, owner: Scope, state: VaultStateDatabase
) -> tuple[RecordFileLink, ...]:
    """Return a file's links with ids, without those that lead nowhere."""
    found = []
    for link in entry.links:
        target = link.target or _find_target(link.path, path, owner, state)
        if target:
            found.append(link if link.target else replace(link, target=target))
    return tuple({(link.type, link.target): link for link in found}.values())


def find_loose(
    entry: RecordFileContent, path: str, owner: Scope, state: VaultStateDatabase
) -> dict[str, tuple[Json, ...]]:
    """Find lines of a links section that lead nowhere."""
    found: dict[str, tuple[Json, ...]] = dict(entry.loose)
    for link in entry.links:
        if not link.target and not _find_target(link.path, path, owner, state):
            found[link.type] = (*found.get(link.type, ()), f"[[{link.path}]]")
    return found


def _find_target(link: str, path: str, owner: Scope, state: VaultStateDatabase) -> str:
    """Find by id, path from this file, path from the vault, name."""
    if state.get(owner, [link]):
        return link
    wanted = link if link.endswith(".md") else f"{link}.md"
    below = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
    known = state.find_paths([below, wanted])
    for name in (below, wanted):
        row = known.get(path_key(name))
        if row is not None and row.owner == owner:
            return row.id
    tail = id_tail(wanted)
    rows = (
        [
            row
            for row in state.all_rows()
            if row.owner == owner and posixpath.basename(row.path) == posixpath.basename(wanted)
        ]
        if tail
        else []
    )
    return rows[0].id if len(rows) == 1 else ""
