"""Messages as JSON objects, one a line (JSONL) or as elements of a list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_values import (
    clean_label,
    derive_id,
    first_filled,
    message_text,
    parse_moment,
    role_and_speaker,
    scope_label,
)
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.pieces import (
    ForeignPiece,
    JsonElement,
    ParsedTurn,
    TextLine,
    UnreadablePiece,
)

TEXT_FIELDS = ("text", "content", "message", "memory")
ID_FIELDS = ("id", "external_id", "uuid")
_KINDS = {kind.value: kind for kind in Kind}
_MESSAGE_KEYS = frozenset({"text", "content", "message", "messages", "caption"})
_FILE_NAMES = (".json", ".jsonl", ".ndjson")
_JSON_START = re.compile(r'\{\s*(?:"|\}|$)|\[\s*(?:[{"]|\[\s*[{"]|\]\s*$|$)')
"""Beginning of an object, or of a list of objects, texts or lists; other brackets may be prose."""
_SAMPLED_LINES = 20


def recognises_lines(head: FileHead) -> bool:
    """Recognise JSONL by its lines; text in a file named as JSON is broken JSONL."""
    if not head.starts_json:
        return head.has_suffix(*_FILE_NAMES) or _holds_messages(head)
    return head.text.startswith("{") and _holds_messages(head)


def recognises(head: FileHead) -> bool:
    """Recognise any other JSON; broken JSON counts where its file is named so."""
    return head.starts_json and (
        head.has_suffix(*_FILE_NAMES)
        or bool(head.shape.keys & _MESSAGE_KEYS)
        or _JSON_START.match(head.text) is not None
        or (head.whole and _is_json(head.text))
    )


def _holds_messages(head: FileHead) -> bool:
    """Check that a third of the first lines hold messages."""
    lines = head.text.split("\n")
    if not head.whole and len(lines) > 1:
        lines.pop()  # the last line may be cut
    sample = [line for line in lines[:_SAMPLED_LINES] if line.strip()]
    count = sum(map(_is_message_line, sample))
    return count > 0 and count * 3 >= len(sample)


def _is_message_line(line: str) -> bool:
    if not line.lstrip("\0 \t").startswith("{"):
        return False
    try:
        value = parse(line)
    except MalformedJsonError:
        return False
    return isinstance(value, dict) and bool(_MESSAGE_KEYS & value.keys())


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except MalformedJsonError:
        return False
    return True


def read_lines(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
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


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield messages of list elements; their ids derive from their positions."""
    for position, element in enumerate(elements, 1):
        if isinstance(element, UnreadablePiece):
            yield element
        else:
            line, value = element
            yield from read_value(value, position, line=line)


def read_value(
    value: Json, position: int, *, line: int = 0, kind: Kind = Kind.TURN
) -> Iterator[ForeignPiece]:
    """Yield the messages of one value.

    A string is a memory; an object is a message, or a conversation if it holds ``messages``.
    ``position``: tells values without an id apart. ``line``: 0: the position is the line. ``kind``:
    of what tells neither a kind nor a speaker.
    """
    line = line or position
    if isinstance(value, str):
        yield _parse_turn({"text": value}, position, line, Kind.NOTE)
    elif not isinstance(value, dict):
        yield UnreadablePiece(line, f"An object was expected, not {type(value).__name__}.")
    elif isinstance(value.get("messages"), list) and not any(
        isinstance(value.get(name), str) for name in TEXT_FIELDS
    ):
        name = scope_label(
            first_filled(value, "conversation", "conversation_id", "session", "id", "title")
        )
        for number, message in enumerate(value["messages"], 1):
            yield _parse_turn(
                message, f"{position}.{number}", line, kind, name or f"conversation-{position}"
            )
    else:
        yield _parse_turn(value, position, line, kind)


def _parse_turn(
    value: Json, position: object, line: int, kind: Kind, conversation: str = ""
) -> ForeignPiece:
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        # The message is an object of its own; fields beside it go before those inside.
        outer = {name: inner for name, inner in value.items() if name != "message"}
        value = {**value["message"], **outer}
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
    conversation = (
        scope_label(first_filled(value, "conversation", "conversation_id")) or conversation
    )
    external_id = clean_label(first_filled(value, *ID_FIELDS))
    metadata = first_filled(value, "metadata", "meta")
    turn = Turn(
        text=text or caption,
        role=role,
        speaker=speaker,
        at=at,
        session=clean_label(first_filled(value, "session", "session_id")) or conversation,
        external_id=external_id or derive_id(conversation, position, text or caption),
        caption=caption if text else "",
        meta=dict(metadata) if isinstance(metadata, dict) else {},
        stated=stated,
    )
    is_spoken = bool(value.get("role") or speaker)
    return ParsedTurn(turn, conversation, _choose_kind(value, kind, is_spoken), line=line)


def _choose_kind(value: Mapping[str, Any], kind: Kind, is_spoken: bool) -> Kind:
    """Choose a kind: the one named, a turn of a speaker, a note under ``memory``, or ``kind``."""
    name = value.get("kind")
    if isinstance(name, str) and name in _KINDS:
        return _KINDS[name]
    if is_spoken:
        return Kind.TURN
    return Kind.NOTE if "memory" in value else kind


def _read_stated(value: Mapping[str, Any]) -> StatedFields:
    """Read tags, the triple and the validity. ValueError: a time is none."""
    tags = value.get("tags")
    if isinstance(tags, str):
        tags = tags.split(";")
    labels = map(clean_label, tags) if isinstance(tags, list) else ()
    return StatedFields(
        subject=clean_label(value.get("subject")),
        predicate=clean_label(value.get("predicate")),
        object=clean_label(value.get("object")),
        category=clean_label(value.get("category")),
        tags=tuple(label for label in labels if label),
        valid_from=parse_moment(value.get("valid_from")),
        valid_to=parse_moment(value.get("valid_to")),
    )
