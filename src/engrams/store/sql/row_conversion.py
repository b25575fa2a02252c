"""Conversion between records and rows of tables, and of single fields for changes and histories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from engrams.core import Evidence, Json, Kind, Layer, Provenance, Record, Scope, Status, Tier
from engrams.core.clock import micros, parse_time
from engrams.errors import EngramsError, InputError, StoreError
from engrams.store.sql.json_encoders import make_encoder
from engrams.text.text_caches import text_cache

Row: TypeAlias = tuple[Any, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Times are stored as microseconds since then."""
MEND = "`engrams doctor --repair` rescues the readable part and keeps the damaged file beside it."
"""Hint of errors of damage."""
_EMPTY_LIST = "[]"
_EMPTY_MAP = "{}"
_parse = json.JSONDecoder().raw_decode
"""Parser for our own JSON: no blanks to strip, no encoding to detect."""
_NO_PROVENANCE = Provenance()
_KINDS = {str(kind): kind for kind in Kind}
_LAYERS = {str(layer): layer for layer in Layer}
_TIERS = {str(tier): tier for tier in Tier}
_STATUSES = {str(status): status for status in Status}

TEXTS = (
    "id",
    "role",
    "speaker",
    "session",
    "external_id",
    "superseded_by",
    "subject",
    "predicate",
    "object",
    "category",
)
LONG_TEXTS = ("caption", "summary", "text")
ENUMS: Mapping[str, type[Kind | Layer | Tier | Status]] = {
    "kind": Kind,
    "layer": Layer,
    "tier": Tier,
    "status": Status,
}
TIMES = ("recorded_at", "valid_from", "valid_to", "retired_at", "ended_at", "last_accessed")
REALS = ("importance", "confidence", "trust")
WHOLES = ("strength", "access_count", "version")
LISTS = ("tags", "triggers", "steps")
JSONS = ("provenance", "evidence", "meta")

FIELDS: tuple[str, ...] = (
    *TEXTS,
    *LONG_TEXTS,
    *ENUMS,
    "scope",
    *TIMES,
    *REALS,
    *WHOLES,
    *LISTS,
    *JSONS,
)
"""Fields of a record, one column each, in the order of the query ``select_records``."""

_LONG_POSITIONS = tuple(map(FIELDS.index, ("text", "evidence", "meta")))
_MAX_CACHED = 2_000
"""Characters of the longest record that is cached: text, evidence and metadata."""


def decode_time(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def to_datetime(value: int) -> datetime:
    """Time of a column that is never null."""
    return _EPOCH + timedelta(microseconds=value)


def encode_json(value: Json) -> str:
    """Encode compact JSON with sorted keys: equal values give equal texts.

    InputError for values that JSON cannot hold.
    """
    if not value and isinstance(value, Mapping):
        return _EMPTY_MAP
    if not value and isinstance(value, list | tuple):
        return _EMPTY_LIST
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InputError(
            f"This cannot be stored as JSON: {problem}.",
            hint="Use text, numbers, true, false, null, lists and maps with text keys.",
        ) from None


def decode_json(text: str) -> Json:
    if text == _EMPTY_MAP:
        return {}
    if text == _EMPTY_LIST:
        return []
    return _parse(text)[0]


def encode_field(name: str, value: Any) -> Any:
    """Encode a field as its column holds it."""
    if name in TIMES:
        return _encode_time(value)
    if name in LISTS:
        return encode_json(value)
    match name:
        case "scope":
            return value.key
        case "evidence":
            return _encode_evidence(value)
        case "provenance":
            return _encode_provenance(value)
        case "meta":
            return encode_json(value)
        case _:
            return str(value) if name in ENUMS else value


def encode_record(record: Record) -> tuple[Any, ...]:
    """Encode a record as columns, in the order of FIELDS."""
    # One by one: a loop over names takes three times as long, for each record that is written.
    return (
        record.id,
        record.role,
        record.speaker,
        record.session,
        record.external_id,
        record.superseded_by,
        record.subject,
        record.predicate,
        record.object,
        record.category,
        record.caption,
        record.summary,
        record.text,
        str(record.kind),
        str(record.layer),
        str(record.tier),
        str(record.status),
        record.scope.key,
        micros(record.recorded_at),
        _encode_time(record.valid_from),
        _encode_time(record.valid_to),
        _encode_time(record.retired_at),
        _encode_time(record.ended_at),
        _encode_time(record.last_accessed),
        record.importance,
        record.confidence,
        record.trust,
        record.strength,
        record.access_count,
        record.version,
        encode_json(record.tags),
        encode_json(record.triggers),
        encode_json(record.steps),
        _encode_provenance(record.provenance),
        _encode_evidence(record.evidence),
        encode_json(record.meta),
    )


def decode_record(row: Row) -> Record:
    """Decode a row in the order of FIELDS. StoreError: it is damaged."""
    try:
        return _decode(row)
    except (
        EngramsError,
        KeyError,
        ValueError,
        TypeError,
        OverflowError,
        AttributeError,
    ) as problem:
        raise StoreError(
            f"The memory {row[0]!r} is damaged: {type(problem).__name__}: {problem}.", hint=MEND
        ) from problem


def is_short(row: Row) -> bool:
    """Test whether a row is small enough to be remembered."""
    return sum([len(row[position]) for position in _LONG_POSITIONS]) <= _MAX_CACHED


def _decode(row: Row) -> Record:
    # In the order of Record's own fields: a search decodes fifty, and a loop over names takes twice
    # as long.
    (
        record_id,
        role,
        speaker,
        session,
        external,
        successor,
        subject,
        predicate,
        value,
        category,
        caption,
        summary,
        text,
        kind,
        layer,
        tier,
        status,
        scope,
        recorded,
        since,
        until,
        retired,
        ended,
        accessed,
        importance,
        confidence,
        trust,
        strength,
        count,
        version,
        tags,
        triggers,
        steps,
        origin,
        quotes,
        meta,
    ) = row
    return Record(
        id=record_id,
        scope=Scope.parse(scope),
        kind=_KINDS[kind],
        text=text,
        recorded_at=_EPOCH + timedelta(microseconds=recorded),
        layer=_LAYERS[layer],
        tier=_TIERS[tier],
        status=_STATUSES[status],
        role=role,
        speaker=speaker,
        session=session,
        external_id=external,
        caption=caption,
        valid_from=decode_time(since),
        valid_to=decode_time(until),
        retired_at=decode_time(retired),
        ended_at=decode_time(ended),
        subject=subject,
        predicate=predicate,
        object=value,
        category=category,
        tags=_decode_list(tags),
        triggers=_decode_list(triggers),
        steps=_decode_list(steps),
        evidence=()
        if quotes == _EMPTY_LIST
        else tuple(Evidence(*item) for item in _parse(quotes)[0]),
        provenance=_decode_provenance(origin),
        importance=importance,
        confidence=confidence,
        trust=trust,
        strength=strength,
        access_count=count,
        last_accessed=decode_time(accessed),
        superseded_by=successor,
        summary=summary,
        version=version,
        meta=decode_json(meta),
    )


def _encode_time(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def _encode_evidence(quotes: Iterable[Evidence]) -> str:
    return encode_json([[item.quote, item.source, item.speaker] for item in quotes])


def _encode_provenance(origin: Provenance) -> str:
    return encode_json(
        {
            key: value
            for key in Provenance.__slots__
            if (value := getattr(origin, key)) != getattr(_NO_PROVENANCE, key)
        }
    )


def _decode_list(text: str) -> tuple[str, ...]:
    return () if text == _EMPTY_LIST else tuple(_parse(text)[0])


@text_cache(1024)
def _decode_provenance(text: str) -> Provenance:
    """Decode a provenance, cached: it is frozen, and the same for many records."""
    fields = decode_json(text)
    return Provenance(**{**fields, "files": tuple(fields.get("files", ()))})


def to_history_value(name: str, value: Any) -> Json:
    """Encode a field for the history: JSON values, ISO 8601 times."""
    if isinstance(value, datetime):
        return value.isoformat()
    match name:
        case "scope":
            return value.key
        case "evidence":
            return [
                {"quote": item.quote, "source": item.source, "speaker": item.speaker}
                for item in value
            ]
        case "provenance":
            set_fields = {
                key: field for key in Provenance.__slots__ if (field := getattr(value, key))
            }
            return {
                key: list(field) if isinstance(field, tuple) else field
                for key, field in set_fields.items()
            }
        case _:
            if isinstance(value, tuple):
                return list(value)
            if name in ENUMS:
                return str(value)
            return value


def coerce_field(name: str, value: Any) -> Any:
    """Convert a new value to the field's type.

    InputError: an unknown field, or not such a value.
    """
    try:
        return _find_coercion(name)(value)
    except (TypeError, ValueError, AttributeError) as problem:
        raise InputError(f"{value!r:.200} cannot be a record's {name}: {problem}.") from None


def _find_coercion(name: str) -> Callable[[Any], Any]:
    if name in TIMES:
        return _coerce_time if name != "recorded_at" else _require_time
    if name in ENUMS:
        return ENUMS[name]
    if name in REALS:
        return float
    if name in LISTS:
        return _require_texts
    if name in TEXTS or name in LONG_TEXTS:
        return _require_text
    match name:
        case "strength" | "access_count":
            return _require_int
        case "scope":
            return lambda value: Scope.parse(value) if isinstance(value, str) else Scope.of(value)
        case "evidence":
            return lambda items: tuple(
                item if isinstance(item, Evidence) else Evidence(**item) for item in items
            )
        case "provenance":
            return lambda origin: origin if isinstance(origin, Provenance) else Provenance(**origin)
        case "meta":
            return dict
        case _:
            raise InputError(
                f"A record has no field {name!r} that can be changed.",
                hint=f"Fields: {', '.join(FIELDS)}.",
            )


def _require_int(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("a whole number is needed")
    return int(value)


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text is needed")
    return str(value)


def _require_texts(values: Iterable[Any]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError("a list of texts is needed")
    return tuple(_require_text(value) for value in values)


def _coerce_time(value: Any) -> datetime | None:
    return None if value is None else _require_time(value)


def _require_time(value: Any) -> datetime:
    moment = parse_time(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        raise TypeError("a time is needed")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _json_default(value: Any) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


_encode = make_encoder(
    json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
        default=_json_default,
    )
)
