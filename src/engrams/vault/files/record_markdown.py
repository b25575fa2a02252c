"""Convert one memory to one file and back, with its links (``record_links``).

The text alone is the body; every other field that differs from its default is front matter.
``parse_entry(render_entry(record, edges))`` gives equal fields and edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from engrams.core import (
    LAYER_OF,
    MEMORY_ROLE,
    RUNNING,
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
from engrams.vault.files import front_matter
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_links import (
    LooseLinks,
    RecordFileLink,
    parse_links,
    render_links,
)

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
    "in_session": "",
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

``source_id`` is told, and not read. What was not said in a session, but belongs to a conversation by
its scope, tells the ``conversation_id`` too, and ``in_session: false``; a rolling summary needs no
such mark. The ``role`` of a statement is ``memory``; who said it stands in
``said_by``.
"""

KNOWN = frozenset(NAMES) | frozenset(EdgeType)
UNVERSIONED = frozenset({"id", "version", "access_count", "last_accessed"})
"""Fields that a hand edit cannot set."""

_BLANK = Record(
    id="",
    scope=Scope(("-",)),
    kind=Kind.FACT,
    text="",
    recorded_at=datetime(1970, 1, 1, tzinfo=UTC),
)
_DEFAULTS = {item.name: getattr(_BLANK, item.name) for item in fields(Record)}
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


@dataclass(frozen=True, slots=True)
class RecordFileContent:
    """Content of a memory's file."""

    fields: Mapping[str, Any]
    """Fields of the record that the file names, and ``text``."""
    links: tuple[RecordFileLink, ...] = ()
    loose: LooseLinks = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Id of the memory; empty: the file names none."""
        return str(self.fields.get("id", ""))

    def to_record(self, fallback: Mapping[str, Any]) -> Record:
        """Return the described record.

        ``fallback``: id, kind, scope, time and layer where the file leaves them open.
        """
        needed = {name: value for name, value in fallback.items() if name in _NEEDED}
        values = {**_DEFAULTS, **needed, **self.fields}
        if "layer" not in self.fields and ("layer" not in needed or "kind" in self.fields):
            values["layer"] = LAYER_OF[values["kind"]]
        return Record(**values)


def render_entry(
    record: Record,
    links: Sequence[RecordFileLink],
    old_text: str = "",
    loose: LooseLinks | None = None,
) -> str:
    """Render a record's file; keep what ``old_text`` says beyond its fields."""
    items = [*_front_items(record), *render_links(links, loose or {})]
    try:
        old_front, _ = front_matter.split(old_text)
    except FrontMatterError:
        old_front = None
    if old_front is None:
        # Links by id, as people write them, resolve in editors that know aliases.
        return front_matter.join(front_matter.dump([*items, ("aliases", [record.id])]), record.text)
    return front_matter.join(front_matter.revise(old_front, items, KNOWN), record.text)


def parse_entry(text: str) -> RecordFileContent:
    """Parse a file's text. FrontMatterError: the front matter is unreadable."""
    front, body = front_matter.split(text)
    values = front_matter.load(front) if front is not None else {}
    record_fields: dict[str, Any] = {"text": body}
    for name, value in values.items():
        field_name = NAMES.get(name, "")
        if field_name and value is not None and (name, value) != ("role", MEMORY_ROLE):
            record_fields[field_name] = _parse_value(name, field_name, value)
    is_rolling_session = _is_rolling(record_fields.get("meta")) and record_fields.get(
        "session"
    ) == _find_conversation(record_fields.get("scope"))
    if values.get("in_session") is False or is_rolling_session:
        record_fields.pop("session", None)
    links, loose = parse_links(values)
    return RecordFileContent(record_fields, links, loose)


def parse_field(name: str, value: Json) -> Any:
    """Parse a field's JSON form. FrontMatterError: it is no such value."""
    return _parse_value(name, name, value)


def _front_items(record: Record) -> list[tuple[str, Json]]:
    """List the names and values of a record's front matter, without defaults."""
    items: list[tuple[str, Json]] = []
    category_name = "summary_kind" if record.kind is Kind.SUMMARY else "category"
    role_name = "role" if record.layer is Layer.EPISODIC else "said_by"
    for name, field_name in NAMES.items():
        if name == "source_id":
            if record.evidence and record.evidence[0].source:
                items.append((name, record.evidence[0].source))
        elif name == "in_session":
            is_marked = not record.session and not _is_rolling(record.meta)
            if is_marked and _find_conversation(record.scope):
                items.append((name, False))
        elif field_name == "category" and name != category_name:
            continue
        elif field_name == "role" and name != role_name:
            if name == "role":
                items.append((name, MEMORY_ROLE))
        else:
            value = getattr(record, field_name)
            if field_name == "session" and not value:
                value = _find_conversation(record.scope)
            default = LAYER_OF[record.kind] if field_name == "layer" else _DEFAULTS[field_name]
            if value != default or (field_name in _NEEDED and field_name != "layer"):
                items.append((name, _to_json(value)))
    return items


def _is_rolling(meta: Mapping[str, Json] | None) -> bool:
    return meta is not None and meta.get(RUNNING) == "rolling"


def _find_conversation(scope: Scope | None) -> str:
    """Return the conversation that a scope names; an empty text if it names none."""
    is_named = scope is not None and scope.labels[-2:-1] == ("conversation",)
    return scope.labels[-1] if scope is not None and is_named else ""


def _to_json(value: Any) -> Json:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Scope():
            return value.key
        case Provenance():
            return {
                name: _to_json(field_value)
                for name in Provenance.__slots__
                if (field_value := getattr(value, name)) != getattr(Provenance(), name)
            }
        case Evidence():
            return {
                name: field_value
                for name in Evidence.__slots__
                if (field_value := getattr(value, name))
            }
        case tuple():
            return [_to_json(item) for item in value]
        case Mapping():
            return dict(value)
        case str():
            return str(value)
        case _:
            return value


def _parse_value(name: str, field_name: str, value: Json) -> Any:
    """Parse a value of front matter. ``name``: as the file calls it, for the error."""
    try:
        if field_name in _TIMES:
            return None if value is None else parse_time(_parse_text(value)).astimezone(UTC)
        if field_name in _ENUMS:
            return _ENUMS[field_name](_parse_text(value))
        if field_name in _LISTS:
            return tuple(
                _parse_text(item) for item in (value if isinstance(value, list) else [value])
            )
        if field_name in _SHARES:
            return _parse_share(value)
        if field_name in _COUNTS:
            return _parse_count(value)
        match field_name:
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
        name: _parse_text(text)
        for name, text in value.items()
        if name in ("channel", "extractor", "prompt", "reason")
    }
    return Provenance(**texts, files=tuple(_parse_text(item) for item in value.get("files", ())))
