"""Read messages, one JSON object each: JSONL lines or list elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import (
    clean_label,
    derive_id,
    first_filled,
    message_text,
    parse_moment,
    role_and_speaker,
    scope_label,
)
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece

TEXT_FIELDS = ("text", "content", "message", "memory")
ID_FIELDS = ("id", "external_id", "uuid")
_KINDS = {kind.value: kind for kind in Kind}


def read_lines(
    lines: Iterable[tuple[int, str] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield messages of JSONL; a broken line costs only itself."""
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        number, text = line
        if not text.strip(" \t\r\0"):
            continue
        try:
            value = parse(text)
        except MalformedJsonError as problem:
            yield UnreadablePiece(number, f"This line is {problem}.", broken=True)
        else:
            yield from read_value(value, number)


def read_values(
    values: Iterable[tuple[int, Json] | UnreadablePiece], kind: Kind = Kind.TURN
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield messages of list elements; ids derive from their place."""
    for place, value in enumerate(values, 1):
        if isinstance(value, UnreadablePiece):
            yield value
        else:
            yield from read_value(value[1], place, line=value[0], kind=kind)


def read_value(
    value: Json, place: int, *, line: int = 0, kind: Kind = Kind.TURN, conversation: str = ""
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield the messages of one value.

    A string is a memory; an object is a message, or a conversation if it holds ``messages``.
    """
    where = line or place
    if isinstance(value, str):
        value = {"text": value}
        kind = Kind.NOTE
    if not isinstance(value, dict):
        yield UnreadablePiece(where, f"An object was expected, not {type(value).__name__}.")
    elif isinstance(value.get("messages"), list) and not any(
        isinstance(value.get(name), str) for name in TEXT_FIELDS
    ):
        name = (
            scope_label(
                first_filled(value, "conversation", "conversation_id", "session", "id", "title")
            )
            or conversation
            or f"conversation-{place}"
        )
        for at, message in enumerate(value["messages"], 1):
            yield _parse_turn(message, f"{place}.{at}", where, kind, name)
    else:
        yield _parse_turn(value, place, where, kind, conversation)


def _parse_turn(
    value: Json, place: object, line: int, kind: Kind, conversation: str
) -> ParsedTurn | UnreadablePiece:
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = {
            **value["message"],
            **{key: held for key, held in value.items() if key != "message"},
        }
    if not isinstance(value, dict):
        return UnreadablePiece(line, f"An object was expected, not {type(value).__name__}.")
    text = message_text(first_filled(value, *TEXT_FIELDS))
    caption = clean_label(first_filled(value, "caption"))
    if not (text or caption):
        return UnreadablePiece(
            line, "No text: one of the fields text, content or message is needed."
        )
    try:
        at = parse_moment(first_filled(value, "at", "date", "timestamp", "created_at", "time"))
        stated = _read_stated(value)
    except ValueError as problem:
        return UnreadablePiece(line, f"This turn was left out: {problem}.")
    role, speaker = role_and_speaker(value.get("role"), first_filled(value, "speaker", "name"))
    talk = scope_label(first_filled(value, "conversation", "conversation_id")) or conversation
    turn = Turn(
        text=text or caption,
        role=role,
        speaker=speaker,
        at=at,
        session=clean_label(first_filled(value, "session", "session_id")) or talk,
        external_id=clean_label(first_filled(value, *ID_FIELDS))
        or derive_id(talk, place, text or caption),
        caption=caption if text else "",
        meta=_read_meta(value),
        stated=stated,
    )
    return ParsedTurn(
        turn, talk, _choose_kind(value, kind, bool(value.get("role") or speaker)), line=line
    )


def _choose_kind(value: Mapping[str, Any], kind: Kind, spoken: bool) -> Kind:
    named = value.get("kind")
    if isinstance(named, str) and named in _KINDS:
        return _KINDS[named]
    if spoken:
        return Kind.TURN
    if "memory" in value:
        return Kind.NOTE
    return kind


def _read_meta(value: Mapping[str, Any]) -> dict[str, Any]:
    meta = first_filled(value, "metadata", "meta")
    return dict(meta) if isinstance(meta, dict) else {}


def _read_stated(value: Mapping[str, Any]) -> StatedFields:
    """Read tags, the triple and the validity. ValueError: a time is none."""
    tags = value.get("tags")
    if isinstance(tags, str):
        named = tags.split(";")
    elif isinstance(tags, list):
        named = tags
    else:
        named = []
    return StatedFields(
        subject=clean_label(value.get("subject")),
        predicate=clean_label(value.get("predicate")),
        object=clean_label(value.get("object")),
        category=clean_label(value.get("category")),
        tags=tuple(name for tag in named if (name := clean_label(tag))),
        valid_from=parse_moment(value.get("valid_from")),
        valid_to=parse_moment(value.get("valid_to")),
    )
