"""Conversations of benchmarks: the LoCoMo layout (sessions) and a flat one (items)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Turn
from engrams.frozen_data import dataclass
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
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_SESSION_KEY = re.compile(r"session_(\d{1,6})")


def recognises(head: FileHead) -> bool:
    """Recognise a conversation with its sessions or items, or a list of conversations."""
    shape = head.shape
    return (
        shape.has_object("conversation")
        or shape.has_list("items")
        or shape.has_list("conversations")
    )


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield the messages of every conversation, without its questions."""
    names: Counter[str] = Counter()
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        talk = data if isinstance(data, dict) else {}
        items = talk.get("items")
        sessions = talk.get("conversation")
        if not isinstance(items, list) and not isinstance(sessions, dict):
            # Behind the conversations an object may hold facts about the whole data set.
            if not (isinstance(data, dict) and names):
                yield UnreadablePiece(line, "A conversation with items or sessions was expected.")
            continue
        name = scope_label(first_filled(talk, "id", "sample_id"))
        name = name or f"conversation-{names.total() + 1}"
        names[name] += 1
        if names[name] > 1:
            name = f"{name}#{names[name]}"
        if isinstance(items, list):
            yield from _read_items(line, name, items)
        elif isinstance(sessions, dict):
            yield from _read_sessions(line, name, sessions)


def _read_items(line: int, name: str, items: list[Json]) -> Iterator[ForeignPiece]:
    for position, item in enumerate(items, 1):
        fields = item if isinstance(item, dict) else {}
        session = clean_label(fields.get("session")) or "1"
        item_position = _ItemPosition(line, name, session, str(position), fields.get("date"))
        yield _parse_item(item, item_position)


def _read_sessions(line: int, name: str, talk: Mapping[str, Any]) -> Iterator[ForeignPiece]:
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION_KEY.fullmatch(key)))
    for number in numbers:
        turns = talk[f"session_{number}"]
        date = talk.get(f"session_{number}_date_time")
        if not isinstance(turns, list):
            yield UnreadablePiece(line, f"Session {number} of {name} is no list.")
            continue
        for position, turn in enumerate(turns, 1):
            item_position = _ItemPosition(line, name, str(number), f"{number}.{position}", date)
            yield _parse_item(turn, item_position)


@dataclass(frozen=True, slots=True)
class _ItemPosition:
    """Position of a message in a file."""

    line: int
    conversation: str
    session: str
    number: str
    """Number in the conversation, such as ``3`` or ``2.3`` (session 2, message 3)."""
    date: Json
    """Date of the message or its session, as the file has it."""

    def __str__(self) -> str:
        return f"Item {self.number} of {self.conversation}"


def _parse_item(item: Json, position: _ItemPosition) -> ForeignPiece:
    if not isinstance(item, dict):
        return UnreadablePiece(position.line, f"{position} is no object.")
    text = message_text(first_filled(item, "text", "clean_text"))
    caption = clean_label(first_filled(item, "caption", "blip_caption"))
    if not (text or caption):
        return UnreadablePiece(position.line, f"{position} has no text.")
    try:
        at = parse_moment(position.date)
    except ValueError as problem:
        return UnreadablePiece(position.line, f"{position} was left out: {problem}.")
    role, speaker = role_and_speaker(None, item.get("speaker"))
    message_id = clean_label(first_filled(item, "id", "dia_id"))
    turn = Turn(
        text=text or caption,
        role=role,
        speaker=speaker,
        at=at,
        session=f"{position.conversation}/{position.session}",
        external_id=message_id or derive_id(position.conversation, position.number, text),
        caption=caption if text else "",
    )
    return ParsedTurn(turn, position.conversation)
