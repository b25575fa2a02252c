"""Plain text and Markdown, as memories (a line each) or as a chat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice

from engrams.core import FOREIGN, Json, Kind, Turn
from engrams.transfer.formats.foreign_values import (
    derive_id,
    first_filled,
    parse_moment,
    role_and_speaker,
)
from engrams.transfer.formats.json_messages import ID_FIELDS, read_value
from engrams.transfer.formats.json_stream import MalformedJsonError, parse
from engrams.transfer.formats.pieces import ForeignPiece, ParsedTurn, TextLine, UnreadablePiece

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
_SAMPLED_LINES = 200
"""Lines from which a chat is recognised."""
_CHAT_SHARE = 0.6
"""Share of the lines of a chat that begin with a name."""
_FRONT_MATTER_FENCE = "---"


def read(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Yield every line of a text, or its chat messages.

    It is a chat if most of its first lines read "Name: text" and names recur. The lines of a
    document are not the user's words, whatever they say: only those that an assistant dated, when it
    was asked for its memories, are statements to learn from.
    """
    lines = iter(lines)
    sample = _skip_front_matter(list(islice(lines, _SAMPLED_LINES)))
    is_chat = _is_chat([line[1] for line in sample if not isinstance(line, UnreadablePiece)])
    whole = chain(sample, lines)
    yield from _read_chat(whole) if is_chat else _read_list(whole)


def parse_memories(text: str, conversation: str = "default") -> Iterator[ForeignPiece]:
    """Parse memories typed by hand: JSON or plain lines.

    JSON: a list, or ``{"memories": [...]}``, of strings or objects, each with an optional
    ``conversation_id``. Text that is no valid JSON is read as lines. Such a memory has an
    ``external_id`` only if it names one.
    """
    text = text.lstrip("\ufeff")
    if text.lstrip()[:1] in ("[", "{"):
        try:
            values = _find_values(parse(text))
        except MalformedJsonError:
            values = None
        if values is not None:
            yield from _read_typed_values(values, conversation)
            return
    for number, line in enumerate(text.splitlines(), 1):
        note = strip_prefix(line)
        if note:
            yield _without_id(_to_note(note, number, conversation))


def strip_prefix(line: str) -> str:
    """Strip bullet, number or check box from a line."""
    return _PREFIX.sub("", line, count=1).strip()


def _read_typed_values(values: list[Json], conversation: str) -> Iterator[ForeignPiece]:
    for position, value in enumerate(values, 1):
        has_id = isinstance(value, dict) and first_filled(value, *ID_FIELDS) is not None
        for item in read_value(value, position, kind=Kind.NOTE):
            if isinstance(item, UnreadablePiece):
                yield item
                continue
            memory = replace(item, conversation=item.conversation or conversation)
            yield memory if has_id else _without_id(memory)


def _without_id(item: ParsedTurn) -> ParsedTurn:
    """Drop the derived id: who types the same line twice wants it twice."""
    return replace(item, turn=replace(item.turn, external_id=""))


def _find_values(data: Json) -> list[Json] | None:
    """Find the values in JSON that was typed by hand; None: it is no such JSON."""
    if isinstance(data, dict):
        is_single = any(name in data for name in ("text", "content"))
        data = data.get("memories", [data] if is_single else None)
    return data if isinstance(data, list) else None


def _skip_front_matter(sample: list[TextLine]) -> list[TextLine]:
    texts = ["" if isinstance(line, UnreadablePiece) else line[1].rstrip() for line in sample]
    if texts[:1] == [_FRONT_MATTER_FENCE] and _FRONT_MATTER_FENCE in texts[1:]:
        return sample[texts.index(_FRONT_MATTER_FENCE, 1) + 1 :]
    return sample


def _is_chat(texts: Sequence[str]) -> bool:
    """Check that most lines begin with a name, of two or more, each twice on average."""
    filled = [text for text in texts if text.strip()]
    names = Counter(
        match["name"].casefold() for text in filled if (match := _CHAT_LINE.match(text))
    )
    count = names.total()
    return count >= _CHAT_SHARE * len(filled) and 2 <= len(names) <= (count + 1) // 2


def _read_chat(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Yield messages; a line without a name goes on with the message before it."""
    start = 0  # line where the message begins; 0: before the first name
    name = ""
    at = None
    texts = [""]
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        number, text = line
        match = _CHAT_LINE.match(text)
        if not match:
            texts.append(text.rstrip())
            continue
        yield from _to_message(start, name, at, texts)
        start = number
        name = match["name"]
        texts = [match["text"].rstrip()]
        try:
            at = parse_moment(match["at"])
        except ValueError as problem:
            at = None
            yield UnreadablePiece(number, f"Stored without its time: {problem}.")
    yield from _to_message(start, name, at, texts)


def _to_message(
    start: int, name: str, at: datetime | None, texts: list[str]
) -> Iterator[ParsedTurn]:
    text = "\n".join(texts).strip()
    if not text:
        return
    if not start:
        yield _to_note(text, start)
        return
    role, speaker = role_and_speaker(None, name)
    yield ParsedTurn(
        Turn(text=text, role=role, speaker=speaker, at=at, external_id=derive_id("", start, text))
    )


def _read_list(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Yield each line that says something, with the heading above it."""
    heading = ""
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        number, text = line
        if _HEADING.match(text):
            heading = text.strip(" \t#")
        elif not _RULE.fullmatch(text) and not _FENCE.match(text):
            note = strip_prefix(text)
            if note:
                is_memory = _DATED.fullmatch(note) is not None
                item = _to_note(note, number, heading=heading)
                yield item if is_memory else _mark_foreign(item)


def _mark_foreign(item: ParsedTurn) -> ParsedTurn:
    """Mark a line of a document as words that nothing of the user is learned from."""
    meta = {**item.turn.meta, FOREIGN: "a line of a document"}
    return replace(item, turn=replace(item.turn, meta=meta))


def _to_note(text: str, line: int, conversation: str = "", heading: str = "") -> ParsedTurn:
    at = None
    external_id = derive_id(conversation, line, text)
    if dated := _DATED.fullmatch(text):
        # Assistants date their memories so when they are asked for all of them.
        text = dated["text"]
        if dated["at"]:
            with suppress(ValueError):
                at = parse_moment(f"{dated['at']}-01"[:10])  # a month counts from its first day
    turn = Turn(
        text,
        at=at,
        session=conversation,
        external_id=external_id,
        meta={"heading": heading} if heading else {},
    )
    return ParsedTurn(turn, conversation, Kind.NOTE)
