"""Read plain text and Markdown, as memories or as a chat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from engrams.core import Json, Kind, Turn
from engrams.transfer.formats.field_parsers import (
    derive_id,
    first_filled,
    parse_moment,
    role_and_speaker,
)
from engrams.transfer.formats.json_messages import ID_FIELDS, read_value
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece

__all__ = ["read_value"]

_PREFIX = re.compile(
    r"^\s*(?:>\s?)*(?:(?:[-*+•–‣·]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+)?(?:\[[ xX]\]\s+)?"
)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[-*_=~`|:#>.\s]*")
_TIME = r"\d{4}-\d\d-\d\d[ T]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_NAME = r"\*{0,2}(?P<name>[^\W\d_][\w .'’&-]{0,39}?)\*{0,2}:\*{0,2}"
_CHAT_LINE = re.compile(rf"^\s*(?:\[?(?P<at>{_TIME})\]?[\s,-]*)?{_NAME}\s+(?P<text>\S.*)$")
_DATED = re.compile(
    r"\[(?:(?P<at>\d{4}-\d\d(?:-\d\d)?)|unknown(?: date)?|no date)\]\.?\s*[-–—:]?\s*(?P<text>\S.*)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*(?:```|~~~)\w*\s*$")
_SAMPLE = 200
_CHAT_SHARE = 0.6
_FRONT = "---"


def read(
    lines: Iterable[tuple[int, str] | UnreadablePiece], conversation: str = ""
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield every line of a text, or its chat messages.

    It is a chat if most of its first lines read "Name: text" and names recur.
    """
    source = iter(lines)
    sample: list[tuple[int, str] | UnreadablePiece] = []
    for line in source:
        sample.append(line)
        if len(sample) == _SAMPLE:
            break
    sample = _skip_front_matter(sample)
    chat = _is_chat([line[1] for line in sample if not isinstance(line, UnreadablePiece)])
    rest = _chain(sample, source)
    yield from _read_chat(rest, conversation) if chat else _read_list(rest, conversation)


def parse_memories(
    text: str, conversation: str = "default"
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Parse memories typed by hand: JSON or plain lines.

    JSON: a list, or ``{"memories": [...]}``, of strings or objects, each with an optional
    ``conversation_id``. Text that is no valid JSON is read as lines. Such a memory has an
    ``external_id`` only if it names one.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] in ("[", "{"):
        try:
            values = _find_entries(parse(text.lstrip("\ufeff")))
        except MalformedJsonError:
            values = None
        if values is not None:
            yield from _read_values(values, conversation)
            return
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        kept = strip_prefix(line)
        if kept:
            yield _without_id(_to_note(kept, number, conversation))


def strip_prefix(line: str) -> str:
    """Strip bullet, number or check box from a line."""
    return _PREFIX.sub("", line, count=1).strip()


def _read_values(values: list[Json], conversation: str) -> Iterator[ParsedTurn | UnreadablePiece]:
    for place, value in enumerate(values, 1):
        for item in read_value(value, place, kind=Kind.NOTE):
            if isinstance(item, UnreadablePiece):
                yield item
                continue
            kept = item if item.conversation else replace(item, conversation=conversation)
            yield (
                kept
                if isinstance(value, dict) and first_filled(value, *ID_FIELDS) is not None
                else _without_id(kept)
            )


def _without_id(item: ParsedTurn) -> ParsedTurn:
    """Drop the derived id: repeated input is stored twice."""
    return replace(item, turn=replace(item.turn, external_id=""))


def _find_entries(value: Json) -> list[Json] | None:
    if isinstance(value, dict):
        held = value.get(
            "memories", [value] if any(name in value for name in ("text", "content")) else None
        )
        return held if isinstance(held, list) else None
    return value if isinstance(value, list) else None


def _chain(
    sample: Iterable[tuple[int, str] | UnreadablePiece],
    rest: Iterable[tuple[int, str] | UnreadablePiece],
) -> Iterator[tuple[int, str] | UnreadablePiece]:
    yield from sample
    yield from rest


def _skip_front_matter(
    sample: list[tuple[int, str] | UnreadablePiece],
) -> list[tuple[int, str] | UnreadablePiece]:
    texts = ["" if isinstance(line, UnreadablePiece) else line[1].rstrip() for line in sample]
    if texts[:1] == [_FRONT] and _FRONT in texts[1:]:
        return sample[texts.index(_FRONT, 1) + 1 :]
    return sample


def _is_chat(texts: Sequence[str]) -> bool:
    kept = [text for text in texts if text.strip()]
    names = Counter(found["name"].casefold() for text in kept if (found := _CHAT_LINE.match(text)))
    said = names.total()
    return said >= _CHAT_SHARE * len(kept) and 2 <= len(names) <= (said + 1) // 2


def _read_chat(
    lines: Iterable[tuple[int, str] | UnreadablePiece], conversation: str
) -> Iterator[ParsedTurn | UnreadablePiece]:
    start = 0
    name = ""
    at = None
    text = [""]
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        found = _CHAT_LINE.match(line[1])
        if not found:
            text.append(line[1].rstrip())
            continue
        yield from _to_message(start, name, at, text, conversation)
        start = line[0]
        name = found["name"]
        text = [found["text"].rstrip()]
        try:
            at = parse_moment(found["at"])
        except ValueError as problem:
            at = None
            yield UnreadablePiece(line[0], f"Kept without its time: {problem}.")
    yield from _to_message(start, name, at, text, conversation)


def _to_message(
    start: int, name: str, at: datetime | None, text: list[str], conversation: str
) -> Iterator[ParsedTurn]:
    whole = "\n".join(text).strip()
    if whole and start:
        role, speaker = role_and_speaker(None, name)
        yield ParsedTurn(
            Turn(
                text=whole,
                role=role,
                speaker=speaker,
                at=at,
                session=conversation,
                external_id=derive_id(conversation, start, whole),
            ),
            conversation,
        )
    elif whole:
        yield _to_note(whole, start, conversation)


def _read_list(
    lines: Iterable[tuple[int, str] | UnreadablePiece], conversation: str
) -> Iterator[ParsedTurn | UnreadablePiece]:
    heading = ""
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
        elif _HEADING.match(line[1]):
            heading = line[1].strip(" \t#")
        elif (
            kept := ""
            if _RULE.fullmatch(line[1]) or _FENCE.match(line[1])
            else strip_prefix(line[1])
        ):
            yield _to_note(kept, line[0], conversation, heading)


def _to_note(text: str, place: int, conversation: str, heading: str = "") -> ParsedTurn:
    meta = {"heading": heading} if heading else {}
    at = None
    id = derive_id(conversation, place, text)
    if dated := _DATED.fullmatch(text):
        # Assistants list their memories so when they are asked for all of them.
        text = dated["text"]
        with suppress(ValueError):
            at = parse_moment(f"{dated['at']}-01"[:10]) if dated["at"] else None
    return ParsedTurn(
        Turn(text, at=at, session=conversation, external_id=id, meta=meta), conversation, Kind.NOTE
    )
