"""A request or answer as JSON text that is cut and spliced, never written anew: what is not ours stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.types import Json

Span: TypeAlias = tuple[int, int]

OURS = frozenset({"memory", "memory_id", "memory_top_k", "memory_recency_weight", "memory_score_threshold"})

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_TEXT_PARTS = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kind of request looks like. ``key``: the member that holds what is said. ``into``: where memory goes.

    message: a system message of its own before the last user message. Any other: the member of that name, its end
    (``instructions``) or its beginning (``prompt``).
    """

    key: str
    into: Literal["message", "instructions", "prompt"]


MESSAGES = Shape("messages", "message")
INPUT = Shape("input", "instructions")
PROMPT = Shape("prompt", "prompt")


@dataclass(frozen=True, slots=True)
class Member:
    """One ``"key": value`` of the outermost object; the span covers both, ``value`` is where the value begins."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request: its text, its parsed fields, where its members stand in the text, its messages and where those stand."""

    text: str
    fields: Mapping[str, Json]
    members: tuple[Member, ...]
    messages: tuple[Json, ...]
    spans: tuple[Span, ...]
    shape: Shape = MESSAGES

    @property
    def last_user(self) -> int:
        """The place of the last user message among the messages; -1: there is none."""
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if isinstance(message, dict) and message.get("role") == "user":
                return place
        return -1

    @property
    def thread(self) -> str:
        """What this request goes on from where it does not bring its history along: a conversation's or a response's id."""
        if self.shape is not INPUT:
            return ""
        named = self.fields.get("conversation")
        named = named.get("id") if isinstance(named, dict) else named
        found = named or self.fields.get("previous_response_id")
        return found if isinstance(found, str) else ""

    def forward(self, memory: str = "") -> bytes:
        """The request without our fields and, where given, with ``memory`` in its place."""
        at, stop, insert = self._splice(memory) if memory else (-1, -1, "")
        pieces = [self.text[: self.members[0].start]] if self.members else [self.text]
        kept = [place for place, member in enumerate(self.members) if member.key not in OURS]
        for place in kept:
            start, end = self.members[place].start, self.members[place].end
            if place != kept[0]:
                pieces.append(self.text[self.members[place - 1].end : start])
            pieces += [self.text[start:at], insert, self.text[stop:end]] if start <= at < end else [self.text[start:end]]
        if self.members:
            pieces.append(self.text[self.members[-1].end :])
        return "".join(pieces).encode("utf-8")

    def _splice(self, memory: str) -> tuple[int, int, str]:
        """Which part of the text gives way to what."""
        if self.shape.into == "message":
            at = self.spans[self.last_user][0]
            return at, at, json.dumps({"role": "system", "content": memory}) + ","
        name = self.shape.into
        member = next((member for member in reversed(self.members) if member.key == name), None)
        if member is None:
            at = next(member.start for member in self.members if member.key not in OURS)
            return at, at, f"{json.dumps(name)}: {json.dumps(memory)}, "
        held = self.fields.get(name)
        if not isinstance(held, str) or not held:
            return member.value, member.end, json.dumps(memory)
        if name == "instructions":
            return member.end - 1, member.end - 1, json.dumps("\n\n" + memory)[1:-1]
        return member.value + 1, member.value + 1, json.dumps(memory + "\n\n")[1:-1]


def read(raw: bytes, shape: Shape = MESSAGES) -> Envelope | None:
    """None: not a JSON object with something said in it; such a request is the upstream's to judge."""
    try:
        return _read(raw.decode("utf-8"), shape)
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


def _read(text: str, shape: Shape) -> Envelope | None:
    fields: dict[str, Json] = {}
    members: list[Member] = []
    spans: tuple[Span, ...] = ()
    at = _expect(text, 0, "{")
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError(text[at])
        key, end = _DECODER.raw_decode(text, at)
        value_at = _expect(text, end, ":")
        if key == shape.key and text[value_at] == "[":
            fields[key], spans, end = _array(text, value_at)
        else:
            fields[key], end = _DECODER.raw_decode(text, value_at)
        members.append(Member(key, at, value_at, end))
        at = _next(text, end, "}")
    if _skip(text, at + 1) != len(text):
        return None
    said = fields.get(shape.key)
    if isinstance(said, str) and shape is not MESSAGES:
        said, spans = [{"role": "user", "content": said}], ()
    return Envelope(text, fields, tuple(members), tuple(said), spans, shape) if isinstance(said, list) else None


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
