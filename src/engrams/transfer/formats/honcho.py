"""Read Honcho's messages and conclusions, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.transfer.formats.field_parsers import role_and_speaker
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert_all,
    make_statement,
    unwrap,
)


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield messages of peers, and conclusions as facts about them."""
    for found in unwrap(values, "items", "messages", "conclusions"):
        if isinstance(found, UnreadablePiece):
            yield found
        elif "observed_id" in found.data:
            yield from convert_all([found], _parse_conclusion, "A conclusion")
        else:
            yield from convert_all([found], _parse_message, "A message")


def _parse_message(found: SourceObject) -> ParsedTurn | None:
    text = found.text("content")
    peer = found.label("peer_id")
    if not peer:
        raise ValueError("it names no peer_id")
    turn = Turn(
        text,
        *role_and_speaker(None, peer),
        at=found.moment("created_at"),
        session=found.label("session_id"),
        external_id=found.label("id"),
        meta=found.pick("metadata"),
    )
    return ParsedTurn(turn, "", Kind.TURN, user=found.label("workspace_id")) if text else None


def _parse_conclusion(found: SourceObject) -> ParsedTurn:
    turn = Turn(
        found.text("content"),
        at=found.moment("created_at"),
        session=found.label("session_id"),
        external_id=found.label("id"),
        meta=found.pick("observer_id", "observed_id", "level", "times_derived"),
        stated=StatedFields(subject=found.label("observed_id")),
    )
    return make_statement(turn)
