"""Read and change a chat request as text: all bytes that are not ours stay as they are.

`parse_envelope` notes where each member and message lies; `ParsedChatRequest.render` cuts our own
members out and puts memory in. A model server that caches prompts sees the same bytes every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.core import Json
from engrams.text.system_texts import remove_system_texts

Span: TypeAlias = tuple[int, int]
"""Start and end offset."""

OURS = frozenset(
    {"memory", "memory_id", "memory_top_k", "memory_recency_weight", "memory_score_threshold"}
)
"""Members of a request that are for us; the upstream does not get them."""

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_TEXT_PARTS = ("text", "input_text", "output_text")
_TOOL_PARTS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class ChatRequestLayout:
    """Places of messages and memory in one kind of chat request."""

    key: str
    """Member that holds the messages."""

    into: Literal["message", "content", "instructions", "prompt"]
    """Place of memory.

    message: a system message of its own before the last user message; content: a text block in the
    last user message; instructions: the end of that member; prompt: the beginning of that member.
    """


MESSAGES = ChatRequestLayout("messages", "message")
BLOCKS = ChatRequestLayout("messages", "content")
INPUT = ChatRequestLayout("input", "instructions")
PROMPT = ChatRequestLayout("prompt", "prompt")
_CONTENT = ChatRequestLayout("content", "message")


@dataclass(frozen=True, slots=True)
class JsonMemberSpan:
    """Member of the outermost object, by offsets into the text."""

    key: str
    start: int
    """Offset of the key."""

    value: int
    """Offset of the value."""

    end: int
    """Offset behind the value."""


@dataclass(frozen=True, slots=True)
class Splice:
    """Text to put in, and the span that it replaces; of no length: nothing is replaced."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class ParsedChatRequest:
    """Request as text, with parsed fields and offsets of members and messages."""

    text: str
    fields: Mapping[str, Json]
    members: tuple[JsonMemberSpan, ...]
    messages: tuple[Json, ...]
    spans: tuple[Span, ...]
    """Start and end of each message; empty where they are a plain text."""

    shape: ChatRequestLayout = MESSAGES

    @property
    def last_user_index(self) -> int:
        """Index of the last user message; -1: there is none.

        One that only hands over results of tools is passed over: nobody said it.
        """
        for index in reversed(range(len(self.messages))):
            message = self.messages[index]
            if (
                isinstance(message, dict)
                and message.get("role") == "user"
                and not _is_tool_turn(message.get("content"))
            ):
                return index
        return -1

    @property
    def thread_id(self) -> str:
        """Id of the conversation or response that the request continues.

        Empty where it brings its own history.
        """
        if self.shape is not INPUT:
            return ""
        conversation = self.fields.get("conversation")
        if isinstance(conversation, dict):
            conversation = conversation.get("id")
        thread_id = conversation or self.fields.get("previous_response_id")
        return thread_id if isinstance(thread_id, str) else ""

    def render(self, memory: str = "") -> bytes:
        """Render the request without our fields, with ``memory`` in its place."""
        if not self.members:
            return self.text.encode("utf-8")
        splice = self._find_splice(memory) if memory else Splice(-1, -1, "")
        pieces = [self.text[: self.members[0].start]]
        is_first = True
        for index, member in enumerate(self.members):
            if member.key in OURS:
                continue
            if not is_first:
                # The comma and blanks before it, as the client wrote them.
                pieces.append(self.text[self.members[index - 1].end : member.start])
            is_first = False
            if member.start <= splice.start < member.end:
                pieces.append(self.text[member.start : splice.start])
                pieces.append(splice.replacement)
                pieces.append(self.text[splice.end : member.end])
            else:
                pieces.append(self.text[member.start : member.end])
        pieces.append(self.text[self.members[-1].end :])
        return "".join(pieces).encode("utf-8")

    def _find_splice(self, memory: str) -> Splice:
        """Find where memory goes into the text."""
        if self.shape.into == "message":
            offset = self.spans[self.last_user_index][0]
            return Splice(offset, offset, json.dumps({"role": "system", "content": memory}) + ",")
        if self.shape.into == "content":
            return self._find_block_splice(json.dumps({"type": "text", "text": memory}))
        name = self.shape.into
        member = next((member for member in reversed(self.members) if member.key == name), None)
        if member is None:
            offset = next(member.start for member in self.members if member.key not in OURS)
            return Splice(offset, offset, f"{json.dumps(name)}: {json.dumps(memory)}, ")
        value = self.fields.get(name)
        if not isinstance(value, str) or not value:
            return Splice(member.value, member.end, json.dumps(memory))
        # Into the text that is there, inside of its quotes.
        if name == "instructions":
            return Splice(member.end - 1, member.end - 1, json.dumps("\n\n" + memory)[1:-1])
        return Splice(member.value + 1, member.value + 1, json.dumps(memory + "\n\n")[1:-1])

    def _find_block_splice(self, block: str) -> Splice:
        """Find the place of a block in the last user message.

        It stands first, but behind the last block that must lead (results of tools) or ends what
        the model server caches.
        """
        start, end = self.spans[self.last_user_index]
        inner = _parse(self.text[start:end], _CONTENT)
        assert inner is not None
        if not inner.spans:
            member = next(member for member in reversed(inner.members) if member.key == "content")
            question = inner.text[member.value : member.end]
            blocks = f'[{block}, {{"type": "text", "text": {question}}}]'
            return Splice(start + member.value, start + member.end, blocks)
        leading = [index for index, part in enumerate(inner.messages) if _must_lead(part)]
        if leading:
            offset = start + inner.spans[leading[-1]][1]
            return Splice(offset, offset, f",{block}")
        offset = start + inner.spans[0][0]
        return Splice(offset, offset, f"{block},")


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
    return "\n".join(texts_of(content))


def texts_of(content: Json) -> list[str]:
    """List the texts of a message's content, one for each part."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def attachment_types(content: Json) -> tuple[str, ...]:
    """List the types of parts that are not text, as image_url."""
    if not isinstance(content, list):
        return ()
    types = (str(part.get("type", "")) for part in content if isinstance(part, dict))
    return tuple(kind for kind in types if kind and kind not in (*_TEXT_PARTS, *_TOOL_PARTS))


def _is_tool_turn(content: Json) -> bool:
    """Return True for results of tools, with no words of a person beside them."""
    if not isinstance(content, list):
        return False
    kinds = [part.get("type") for part in content if isinstance(part, dict)]
    if "tool_result" not in kinds or set(kinds) - {"tool_result", "text"}:
        return False
    return not remove_system_texts(text_of(content))


def _must_lead(part: Json) -> bool:
    """Return True for a block that memory may not stand before."""
    return isinstance(part, dict) and (
        part.get("type") == "tool_result" or bool(part.get("cache_control"))
    )


def _parse(text: str, shape: ChatRequestLayout) -> ParsedChatRequest | None:
    fields: dict[str, Json] = {}
    members: list[JsonMemberSpan] = []
    spans: tuple[Span, ...] = ()
    offset = _skip_char(text, 0, "{")
    while text[offset] != "}":
        if text[offset] != '"':
            raise ValueError(text[offset])
        key, end = _DECODER.raw_decode(text, offset)
        value_offset = _skip_char(text, end, ":")
        if key == shape.key and text[value_offset] == "[":
            fields[key], spans, end = _parse_array(text, value_offset)
        else:
            fields[key], end = _DECODER.raw_decode(text, value_offset)
        members.append(JsonMemberSpan(key, offset, value_offset, end))
        offset = _next_item(text, end, "}")
    if _skip_blanks(text, offset + 1) != len(text):
        return None
    messages = fields.get(shape.key)
    if isinstance(messages, str) and shape in (INPUT, PROMPT, _CONTENT):
        messages = [{"role": "user", "content": messages}]
        spans = ()
    if not isinstance(messages, list):
        return None
    return ParsedChatRequest(
        text=text,
        fields=fields,
        members=tuple(members),
        messages=tuple(messages),
        spans=spans,
        shape=shape,
    )


def _parse_array(text: str, offset: int) -> tuple[list[Json], tuple[Span, ...], int]:
    """Parse an array; return items, their spans and the end."""
    items: list[Json] = []
    spans: list[Span] = []
    offset = _skip_char(text, offset, "[")
    while text[offset] != "]":
        item, end = _DECODER.raw_decode(text, offset)
        items.append(item)
        spans.append((offset, end))
        offset = _next_item(text, end, "]")
    return items, tuple(spans), offset + 1


def _next_item(text: str, offset: int, close: str) -> int:
    """Skip the comma before the next item; stop at the closing bracket."""
    offset = _skip_blanks(text, offset)
    if text[offset] == close:
        return offset
    offset = _skip_char(text, offset, ",")
    if text[offset] == close:
        raise ValueError(text[offset])  # a comma behind the last item is no JSON
    return offset


def _skip_char(text: str, offset: int, char: str) -> int:
    offset = _skip_blanks(text, offset)
    if text[offset] != char:
        raise ValueError(text[offset])
    return _skip_blanks(text, offset + 1)


def _skip_blanks(text: str, offset: int) -> int:
    match = _BLANK.match(text, offset)
    return match.end() if match else offset
