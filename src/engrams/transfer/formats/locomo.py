"""Read benchmark conversations: the LoCoMo layout and a flat one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Turn
from engrams.transfer.formats.field_parsers import (
    clean_label,
    derive_id,
    first_filled,
    message_text,
    parse_moment,
    role_and_speaker,
    scope_label,
)
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece

_SESSION = re.compile(r"session_(\d{1,6})")


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield the messages of every conversation, without its questions."""
    seen: Counter[str] = Counter()
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, talk = value
        if not isinstance(talk, dict) or not (
            isinstance(talk.get("items"), list) or isinstance(talk.get("conversation"), dict)
        ):
            if not (isinstance(talk, dict) and seen):
                yield UnreadablePiece(line, "A conversation with items or sessions was expected.")
            continue
        name = (
            scope_label(first_filled(talk, "id", "sample_id")) or f"conversation-{seen.total() + 1}"
        )
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        yield from (
            _read_flat(line, name, talk["items"])
            if isinstance(talk.get("items"), list)
            else _read_sessions(line, name, talk["conversation"])
        )


def _read_flat(line: int, name: str, items: list[Json]) -> Iterator[ParsedTurn | UnreadablePiece]:
    for place, item in enumerate(items, 1):
        session = clean_label(item.get("session")) if isinstance(item, dict) else ""
        yield _parse_item(
            line,
            name,
            place,
            item,
            session or "1",
            item.get("date") if isinstance(item, dict) else None,
        )


def _read_sessions(
    line: int, name: str, talk: Mapping[str, Any]
) -> Iterator[ParsedTurn | UnreadablePiece]:
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        turns = talk[f"session_{number}"]
        date = talk.get(f"session_{number}_date_time")
        if not isinstance(turns, list):
            yield UnreadablePiece(line, f"Session {number} of {name} is no list.")
            continue
        for place, turn in enumerate(turns, 1):
            yield _parse_item(line, name, f"{number}.{place}", turn, str(number), date)


def _parse_item(
    line: int, name: str, place: object, item: Json, session: str, date: Json
) -> ParsedTurn | UnreadablePiece:
    if not isinstance(item, dict):
        return UnreadablePiece(line, f"Item {place} of {name} is no object.")
    text = message_text(first_filled(item, "text", "clean_text"))
    caption = clean_label(first_filled(item, "caption", "blip_caption"))
    if not (text or caption):
        return UnreadablePiece(line, f"Item {place} of {name} has no text.")
    try:
        at = parse_moment(date)
    except ValueError as problem:
        return UnreadablePiece(line, f"Item {place} of {name} was left out: {problem}.")
    role, speaker = role_and_speaker(None, item.get("speaker"))
    source = clean_label(first_filled(item, "id", "dia_id")) or derive_id(name, place, text)
    return ParsedTurn(
        Turn(
            text=text or caption,
            role=role,
            speaker=speaker,
            at=at,
            session=f"{name}/{session}",
            external_id=source,
            caption=caption if text else "",
        ),
        name,
    )
