"""Turns, one JSON object each: a line of JSONL, or an element of a JSON list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.formats.fields import first, label, made_id, moment, part_of, prose, scoped
from engrams.formats.items import Bad, Parsed
from engrams.formats.stream import MalformedError, parse
from engrams.types import Json, Kind, Turn

_TEXT = ("text", "content", "message", "memory")
ID = ("id", "external_id", "uuid")
_KINDS = {kind.value: kind for kind in Kind}


def from_lines(lines: Iterable[tuple[int, str] | Bad]) -> Iterator[Parsed | Bad]:
    """JSONL: every line stands alone, so that a broken one costs only itself."""
    for line in lines:
        if isinstance(line, Bad):
            yield line
            continue
        number, text = line
        if not text.strip(" \t\r\0"):
            continue
        try:
            value = parse(text)
        except MalformedError as problem:
            yield Bad(number, f"This line is {problem}.")
        else:
            yield from read(value, number)


def from_values(values: Iterable[tuple[int, Json] | Bad], kind: Kind = Kind.TURN) -> Iterator[Parsed | Bad]:
    """Elements of a list: their place in it, not their line, is what an id is made of."""
    for place, value in enumerate(values, 1):
        if isinstance(value, Bad):
            yield value
        else:
            yield from read(value[1], place, line=value[0], kind=kind)


def read(value: Json, place: int, *, line: int = 0, kind: Kind = Kind.TURN, conversation: str = "") -> Iterator[Parsed | Bad]:
    """One value: a string is a memory, an object a turn, or a conversation where it holds ``messages``."""
    where = line or place
    if isinstance(value, str):
        value, kind = {"text": value}, Kind.NOTE
    if not isinstance(value, dict):
        yield Bad(where, f"An object was expected, not {type(value).__name__}.")
    elif isinstance(value.get("messages"), list) and not any(isinstance(value.get(name), str) for name in _TEXT):
        name = scoped(first(value, "conversation", "conversation_id", "session", "id", "title")) or conversation or f"conversation-{place}"
        for at, message in enumerate(value["messages"], 1):
            yield _parse_turn(message, f"{place}.{at}", where, kind, name)
    else:
        yield _parse_turn(value, place, where, kind, conversation)


def _parse_turn(value: Json, place: object, line: int, kind: Kind, conversation: str) -> Parsed | Bad:
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = {**value["message"], **{key: held for key, held in value.items() if key != "message"}}
    if not isinstance(value, dict):
        return Bad(line, f"An object was expected, not {type(value).__name__}.")
    text, caption = prose(first(value, *_TEXT)), label(first(value, "caption"))
    if not (text or caption):
        return Bad(line, "No text: one of the fields text, content or message is needed.")
    try:
        at = moment(first(value, "at", "date", "timestamp", "created_at", "time"))
    except ValueError as problem:
        return Bad(line, f"This turn was left out: {problem}.")
    role, speaker = part_of(value.get("role"), first(value, "speaker", "name"))
    talk = scoped(first(value, "conversation", "conversation_id")) or conversation
    turn = Turn(
        text=text or caption,
        role=role,
        speaker=speaker,
        at=at,
        session=label(first(value, "session", "session_id")) or talk,
        external_id=label(first(value, *ID)) or made_id(talk, place, text or caption),
        caption=caption if text else "",
        meta=_read_meta(value),
    )
    return Parsed(turn, talk, _choose_kind(value, kind, bool(value.get("role") or speaker)), tags=_read_tags(value))


def _choose_kind(value: Mapping[str, Any], kind: Kind, spoken: bool) -> Kind:
    named = value.get("kind")
    if isinstance(named, str) and named in _KINDS:
        return _KINDS[named]
    return Kind.TURN if spoken else Kind.NOTE if "memory" in value else kind


def _read_meta(value: Mapping[str, Any]) -> dict[str, Any]:
    meta = first(value, "metadata", "meta")
    return dict(meta) if isinstance(meta, dict) else {}


def _read_tags(value: Mapping[str, Any]) -> tuple[str, ...]:
    tags = value.get("tags")
    return tuple(name for tag in tags if (name := label(tag))) if isinstance(tags, list) else ()
