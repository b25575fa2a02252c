"""Honcho: messages of peers and conclusions about them, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engrams.core import StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert_all,
    make_statement,
    unwrap_pages,
)
from engrams.transfer.formats.foreign_values import role_and_speaker
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece


def recognises(head: FileHead) -> bool:
    """Recognise messages by their peer, conclusions by the peer they are about."""
    return head.shape.has_rows({"content", "observed_id"}, {"content", "peer_id"})


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield messages of peers, and conclusions as facts about them."""
    for item in unwrap_pages(elements, "items", "messages", "conclusions"):
        if isinstance(item, UnreadablePiece):
            yield item
        elif "observed_id" in item.data:
            yield from convert_all([item], _parse_conclusion, "A conclusion")
        else:
            yield from convert_all([item], _parse_message, "A message")


def _parse_message(message: ForeignObject) -> ParsedTurn | None:
    text = message.text("content")
    peer = message.label("peer_id")
    if not peer:
        raise ValueError("it names no peer_id")
    role, speaker = role_and_speaker(None, peer)
    turn = Turn(
        text=text,
        role=role,
        speaker=speaker,
        at=message.moment("created_at"),
        session=message.label("session_id"),
        external_id=message.label("id"),
        meta=message.pick("metadata"),
    )
    return ParsedTurn(turn, user=message.label("workspace_id")) if text else None


def _parse_conclusion(conclusion: ForeignObject) -> ParsedTurn:
    return make_statement(
        Turn(
            conclusion.text("content"),
            at=conclusion.moment("created_at"),
            session=conclusion.label("session_id"),
            external_id=conclusion.label("id"),
            meta=conclusion.pick("observer_id", "observed_id", "level", "times_derived"),
            stated=StatedFields(subject=conclusion.label("observed_id")),
        )
    )
