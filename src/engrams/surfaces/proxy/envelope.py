"""A chat request or answer as JSON text that is cut and spliced, never written anew: what is not ours stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from engrams.types import Json

Span: TypeAlias = tuple[int, int]

OURS = frozenset({"memory", "memory_id", "memory_top_k", "memory_recency_weight", "memory_score_threshold"})

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_TEXT_PARTS = ("text", "input_text")


@dataclass(frozen=True, slots=True)
class Member:
    """One ``"key": value`` of the outermost object; the span covers both."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request: its text, its parsed fields, and where its members and messages stand in the text."""

    text: str
    fields: Mapping[str, Json]
    members: tuple[Member, ...]
    messages: tuple[Span, ...]

    @property
    def last_user(self) -> int:
        """The place of the last user message among the messages; -1: there is none."""
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.fields["messages"][place]
            if isinstance(message, dict) and message.get("role") == "user":
                return place
        return -1

    def forward(self, memory: str = "") -> bytes:
        """The request without our fields and, where given, with ``memory`` as a system message before the last user message."""
        insert = json.dumps({"role": "system", "content": memory}) + "," if memory else ""
        at = self.messages[self.last_user][0] if memory else -1
        pieces = [self.text[: self.members[0].start]] if self.members else [self.text]
        kept = [place for place, member in enumerate(self.members) if member.key not in OURS]
        for place in kept:
            start, end = self.members[place].start, self.members[place].end
            if place != kept[0]:
                pieces.append(self.text[self.members[place - 1].end : start])
            pieces += [self.text[start:at], insert, self.text[at:end]] if start <= at < end else [self.text[start:end]]
        if self.members:
            pieces.append(self.text[self.members[-1].end :])
        return "".join(pieces).encode("utf-8")


def read(raw: bytes) -> Envelope | None:
    """None: not a JSON object with a list of messages; such a request is the upstream's to judge."""
    try:
        return _read(raw.decode("utf-8"))
    except (ValueError, IndexError, RecursionError):
        return None


def extend(raw: bytes, key: str, value: Json) -> bytes:
    """A non-empty JSON object with one more member at its end; its own bytes stay as they are."""
    body = raw.rstrip()
    return body[:-1] + f',"{key}":{json.dumps(value)}'.encode() + body[-1:]


def text_of(content: Json) -> str:
    """The text of a message's content: itself, or its text parts, one a line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def attachments(content: Json) -> tuple[str, ...]:
    """The types of the parts that are not text (image_url, input_audio, file)."""
    if not isinstance(content, list):
        return ()
    types = (str(part.get("type", "")) for part in content if isinstance(part, dict))
    return tuple(kind for kind in types if kind and kind not in _TEXT_PARTS)


def _read(text: str) -> Envelope | None:
    fields: dict[str, Json] = {}
    members: list[Member] = []
    messages: tuple[Span, ...] | None = None
    at = _expect(text, 0, "{")
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError(text[at])
        key, end = _DECODER.raw_decode(text, at)
        value_at = _expect(text, end, ":")
        if key != "messages":
            fields[key], end = _DECODER.raw_decode(text, value_at)
        elif text[value_at] == "[":
            fields[key], messages, end = _array(text, value_at)
        else:
            return None
        members.append(Member(key, at, end))
        at = _next(text, end, "}")
    if _skip(text, at + 1) != len(text):
        return None
    return None if messages is None else Envelope(text, fields, tuple(members), messages)


def _array(text: str, at: int) -> tuple[list[Json], tuple[Span, ...], int]:
    """The items of the array at ``at``, where each stands, and where the array ends."""
    items: list[Json] = []
    spans: list[Span] = []
    at = _expect(text, at, "[")
    while text[at] != "]":
        item, end = _DECODER.raw_decode(text, at)
        items.append(item)
        spans.append((at, end))
        at = _next(text, end, "]")
    return items, tuple(spans), at + 1


def _next(text: str, at: int, close: str) -> int:
    """Past the comma to the next item, or to the closing bracket; a comma before it is an error."""
    at = _skip(text, at)
    if text[at] == close:
        return at
    at = _expect(text, at, ",")
    if text[at] == close:
        raise ValueError(text[at])
    return at


def _expect(text: str, at: int, char: str) -> int:
    at = _skip(text, at)
    if text[at] != char:
        raise ValueError(text[at])
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
