"""Splice JSON texts without rewriting: foreign bytes stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.text.system_texts import remove_system_texts

Span: TypeAlias = tuple[int, int]

OURS = frozenset(
    {"memory", "memory_id", "memory_top_k", "memory_recency_weight", "memory_score_threshold"}
)

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_TEXT_PARTS = ("text", "input_text", "output_text")
_TOOL_PARTS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class ChatRequestLayout:
    """Places of messages and memory in one kind of chat request.

    ``key``: the member that holds the messages. ``into``: the place of memory; message: a system
    message of its own before the last user message; content: a text block in the last user message;
    any other: the member of that name, its end (``instructions``) or its beginning (``prompt``).
    """

    key: str
    into: Literal["message", "content", "instructions", "prompt"]


MESSAGES = ChatRequestLayout("messages", "message")
BLOCKS = ChatRequestLayout("messages", "content")
INPUT = ChatRequestLayout("input", "instructions")
PROMPT = ChatRequestLayout("prompt", "prompt")
_CONTENT = ChatRequestLayout("content", "message")


@dataclass(frozen=True, slots=True)
class JsonMemberSpan:
    """Member of the outermost object: offsets of the whole and its value."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedChatRequest:
    """Request as text, with parsed fields and offsets of members and messages."""

    text: str
    fields: Mapping[str, Json]
    members: tuple[JsonMemberSpan, ...]
    messages: tuple[Json, ...]
    spans: tuple[Span, ...]
    shape: ChatRequestLayout = MESSAGES

    @property
    def last_user_index(self) -> int:
        """Index of the last user message; -1: there is none.

        One that only hands over results of tools is passed over: nobody said it.
        """
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if (
                isinstance(message, dict)
                and message.get("role") == "user"
                and not _is_tool_turn(message.get("content"))
            ):
                return place
        return -1

    @property
    def thread_id(self) -> str:
        """Id of the conversation or response that the request continues.

        Empty where it brings its own history.
        """
        if self.shape is not INPUT:
            return ""
        named = self.fields.get("conversation")
        named = named.get("id") if isinstance(named, dict) else named
        found = named or self.fields.get("previous_response_id")
        return found if isinstance(found, str) else ""

    def render(self, memory: str = "") -> bytes:
        """Render the request without our fields, with ``memory`` in its place."""
        at, stop, insert = self._find_splice(memory) if memory else (-1, -1, "")
        pieces = [self.text[: self.members[0].start]] if self.members else [self.text]
        kept = [place for place, member in enumerate(self.members) if member.key not in OURS]
        for place in kept:
            start = self.members[place].start
            end = self.members[place].end
            if place != kept[0]:
                pieces.append(self.text[self.members[place - 1].end : start])
            pieces += (
                [self.text[start:at], insert, self.text[stop:end]]
                if start <= at < end
                else [self.text[start:end]]
            )
        if self.members:
            pieces.append(self.text[self.members[-1].end :])
        return "".join(pieces).encode("utf-8")

    def _find_splice(self, memory: str) -> tuple[int, int, str]:
        """Find the span of text to replace, and its replacement."""
        if self.shape.into == "message":
            at = self.spans[self.last_user_index][0]
            return at, at, json.dumps({"role": "system", "content": memory}) + ","
        if self.shape.into == "content":
            return self._find_block_splice(json.dumps({"type": "text", "text": memory}))
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

    def _find_block_splice(self, block: str) -> tuple[int, int, str]:
        """Find the place of a block in the last user message.

        It stands first, but behind the last block that must lead (results of tools) or ends what
        the model server caches.
        """
        start, end = self.spans[self.last_user_index]
        inner = _parse(self.text[start:end], _CONTENT)
        assert inner is not None
        if not inner.spans:
            member = next(member for member in reversed(inner.members) if member.key == "content")
            said = inner.text[member.value : member.end]
            return (
                start + member.value,
                start + member.end,
                f'[{block}, {{"type": "text", "text": {said}}}]',
            )
        leading = [place for place, part in enumerate(inner.messages) if _must_lead(part)]
        if leading:
            at = start + inner.spans[leading[-1]][1]
            return at, at, f",{block}"
        at = start + inner.spans[0][0]
        return at, at, f"{block},"


def parse_envelope(raw: bytes, shape: ChatRequestLayout = MESSAGES) -> ParsedChatRequest | None:
    """Parse a request; None: no JSON object with messages."""
    try:
        return _parse(raw.decode("utf-8"), shape)
    except (ValueError, IndexError, RecursionError):
        return None


def append_member(raw: bytes, key: str, value: Json) -> bytes:
    """Append a member to a non-empty JSON object; other bytes stay."""
    body = raw.rstrip()
    return body[:-1] + f',"{key}":{json.dumps(value)}'.encode() + body[-1:]


def text_of(content: Json) -> str:
    """Extract the text of a message's content; parts are joined by newlines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def attachment_types(content: Json) -> tuple[str, ...]:
    """List the types of parts that are not text, as image_url."""
    if not isinstance(content, list):
        return ()
    types = (str(part.get("type", "")) for part in content if isinstance(part, dict))
    return tuple(kind for kind in types if kind and kind not in (*_TEXT_PARTS, *_TOOL_PARTS))


def _is_tool_turn(content: Json) -> bool:
    parts = (
        [part.get("type") for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else []
    )
    return (
        "tool_result" in parts
        and not set(parts) - {"tool_result", "text"}
        and not remove_system_texts(text_of(content))
    )


def _must_lead(part: Json) -> bool:
    return isinstance(part, dict) and (
        part.get("type") == "tool_result" or bool(part.get("cache_control"))
    )


def _parse(text: str, shape: ChatRequestLayout) -> ParsedChatRequest | None:
    fields: dict[str, Json] = {}
    members: list[JsonMemberSpan] = []
    spans: tuple[Span, ...] = ()
    at = _skip_char(text, 0, "{")
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError(text[at])
        key, end = _DECODER.raw_decode(text, at)
        value_at = _skip_char(text, end, ":")
        if key == shape.key and text[value_at] == "[":
            fields[key], spans, end = _parse_array(text, value_at)
        else:
            fields[key], end = _DECODER.raw_decode(text, value_at)
        members.append(JsonMemberSpan(key, at, value_at, end))
        at = _next_item(text, end, "}")
    if _skip_blanks(text, at + 1) != len(text):
        return None
    said = fields.get(shape.key)
    if isinstance(said, str) and shape in (INPUT, PROMPT, _CONTENT):
        said = [{"role": "user", "content": said}]
        spans = ()
    return (
        ParsedChatRequest(
            text=text,
            fields=fields,
            members=tuple(members),
            messages=tuple(said),
            spans=spans,
            shape=shape,
        )
        if isinstance(said, list)
        else None
    )


def _parse_array(text: str, at: int) -> tuple[list[Json], tuple[Span, ...], int]:
    """Parse an array; return items, their spans and the end."""
    items: list[Json] = []
    spans: list[Span] = []
    at = _skip_char(text, at, "[")
    while text[at] != "]":
        item, end = _DECODER.raw_decode(text, at)
        items.append(item)
        spans.append((at, end))
        at = _next_item(text, end, "]")
    return items, tuple(spans), at + 1


def _next_item(text: str, at: int, close: str) -> int:
    """Skip the comma before the next item; stop at the closing bracket."""
    at = _skip_blanks(text, at)
    if text[at] == close:
        return at
    at = _skip_char(text, at, ",")
    if text[at] == close:
        raise ValueError(text[at])
    return at


def _skip_char(text: str, at: int, char: str) -> int:
    at = _skip_blanks(text, at)
    if text[at] != char:
        raise ValueError(text[at])
    return _skip_blanks(text, at + 1)


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
