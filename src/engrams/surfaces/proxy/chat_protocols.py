"""Chat protocols: paths, request shapes, readers of answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.surfaces.proxy.api_errors import error_body, is_error_text
from engrams.surfaces.proxy.json_splice import (
    BLOCKS,
    INPUT,
    MESSAGES,
    PROMPT,
    ChatRequestLayout,
    text_of,
)

_BROKEN = "upstream_disconnected"


NOTE = "x-engrams-memory"
PROFILE = "x-engrams-profile"
"""Header with the ids of the memories in the profile of a prompt."""
UNSAVED = "x-engrams-unsaved"
"""Header that says why the user's message was not stored."""


@dataclass(frozen=True, slots=True)
class ChatStreamChunk:
    """Text, id and end mark read from one piece of a stream.

    ``id``: that of the whole answer. ``finished``: the model said that it is done.
    """

    text: str = ""
    finished: bool = False
    failed: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """Chat API: paths, request fields, readers of its answers and errors.

    ``lines``: a stream is one JSON value a line, not server-sent events. ``hits``: whole answers
    name the memories used. ``parse_answer`` gives the text of a whole answer; None: it is not one.
    ``format_break`` formats the error of a broken stream.
    """

    path: str
    shape: ChatRequestLayout
    parse_piece: Callable[[Mapping[str, Json]], ChatStreamChunk]
    parse_answer: Callable[[Json], str | None]
    format_break: Callable[[str], bytes]
    lines: bool = False
    hits: bool = True

    def wants_stream(self, fields: Mapping[str, Json]) -> bool:
        """Return True if the request asks for a stream."""
        return fields.get("stream", self.lines) is True

    def read_answer(self, body: Json) -> str | None:
        """Extract an answer's text; None: it is none, or an error."""
        text = self.parse_answer(body)
        return None if text is None or is_error_text(text) else text


def parse_chat_piece(body: Mapping[str, Json]) -> ChatStreamChunk:
    """Parse a chat chunk, its first choice."""
    text = ""
    finished = False
    failed = bool(body.get("error"))
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            delta = choice.get("delta")
            text += text_of(delta.get("content")) if isinstance(delta, dict) else ""
            finished = finished or bool(choice.get("finish_reason"))
            failed = failed or choice.get("finish_reason") == "error"
    return ChatStreamChunk(text, finished, failed)


def parse_chat_answer(body: Json) -> str | None:
    """Extract the text of the first choice of a chat completion."""
    choices = body.get("choices") if isinstance(body, dict) and not body.get("error") else None
    if not isinstance(choices, list):
        return None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    return text_of(message.get("content")) if isinstance(message, dict) else ""


def parse_response_piece(body: Mapping[str, Json]) -> ChatStreamChunk:
    """Parse a typed event of the Responses protocol."""
    kind = body.get("type")
    held = body.get("response")
    name = held.get("id") if isinstance(held, dict) else ""
    delta = body.get("delta") if kind == "response.output_text.delta" else ""
    return ChatStreamChunk(
        delta if isinstance(delta, str) else "",
        kind in ("response.completed", "response.incomplete"),
        kind in ("error", "response.failed") or bool(body.get("error")),
        name if isinstance(name, str) else "",
    )


def parse_response_answer(body: Json) -> str | None:
    """Extract the text of all messages of a response."""
    output = body.get("output") if isinstance(body, dict) and not body.get("error") else None
    if not isinstance(output, list):
        return None
    messages = (item for item in output if isinstance(item, dict) and item.get("type") == "message")
    return "\n".join(text for message in messages if (text := text_of(message.get("content"))))


def parse_message_piece(body: Mapping[str, Json]) -> ChatStreamChunk:
    """Parse a typed event of Anthropic's protocol."""
    kind = body.get("type")
    match kind:
        case "message_start":
            message = body.get("message")
            name = message.get("id") if isinstance(message, dict) else ""
            return ChatStreamChunk(id=name if isinstance(name, str) else "")
        case "content_block_start":
            block = body.get("content_block")
            # Text behind something else begins a line, as in a whole answer.
            parted = (
                isinstance(block, dict) and block.get("type") == "text" and body.get("index") != 0
            )
            return ChatStreamChunk("\n" if parted else "")
        case "content_block_delta":
            delta = body.get("delta")
            text = (
                delta.get("text")
                if isinstance(delta, dict) and delta.get("type") == "text_delta"
                else ""
            )
            return ChatStreamChunk(text if isinstance(text, str) else "")
        case _:
            return ChatStreamChunk(
                finished=kind == "message_stop", failed=kind == "error" or bool(body.get("error"))
            )


def parse_message_answer(body: Json) -> str | None:
    """Extract the text of an answer of Anthropic's protocol."""
    content = (
        body.get("content") if isinstance(body, dict) and body.get("type") == "message" else None
    )
    return text_of(content) if isinstance(content, list) else None


def parse_ollama_piece(body: Mapping[str, Json]) -> ChatStreamChunk:
    """Parse a line of Ollama's protocol."""
    return ChatStreamChunk(_ollama_text(body), body.get("done") is True, bool(body.get("error")))


def parse_ollama_answer(body: Json) -> str | None:
    known = (
        isinstance(body, dict)
        and not body.get("error")
        and ("message" in body or "response" in body)
    )
    return _ollama_text(body) if known else None


def _ollama_text(body: Mapping[str, Json]) -> str:
    message = body.get("message")
    return text_of(message.get("content") if isinstance(message, dict) else body.get("response"))


def _format_chat_break(text: str) -> bytes:
    return sse_event(error_body(CHAT.path, 502, text, _BROKEN))


def _format_response_break(text: str) -> bytes:
    return b"event: error\n" + sse_event(
        {"type": "error", "code": _BROKEN, "message": text, "param": None, "sequence_number": 0}
    )


def _format_message_break(text: str) -> bytes:
    return b"event: error\n" + sse_event(error_body(ANTHROPIC.path, 502, text, _BROKEN))


def _format_ollama_break(text: str) -> bytes:
    return json_line({"error": text})


CHAT = ChatDialect(
    path="/v1/chat/completions",
    shape=MESSAGES,
    parse_piece=parse_chat_piece,
    parse_answer=parse_chat_answer,
    format_break=_format_chat_break,
)
RESPONSES = ChatDialect(
    path="/v1/responses",
    shape=INPUT,
    parse_piece=parse_response_piece,
    parse_answer=parse_response_answer,
    format_break=_format_response_break,
)
ANTHROPIC = ChatDialect(
    path="/v1/messages",
    shape=BLOCKS,
    parse_piece=parse_message_piece,
    parse_answer=parse_message_answer,
    format_break=_format_message_break,
)
OLLAMA_CHAT = ChatDialect(
    path="/api/chat",
    shape=MESSAGES,
    parse_piece=parse_ollama_piece,
    parse_answer=parse_ollama_answer,
    format_break=_format_ollama_break,
    lines=True,
    hits=False,
)
OLLAMA_GENERATE = ChatDialect(
    path="/api/generate",
    shape=PROMPT,
    parse_piece=parse_ollama_piece,
    parse_answer=parse_ollama_answer,
    format_break=_format_ollama_break,
    lines=True,
    hits=False,
)

DIALECTS = (CHAT, RESPONSES, ANTHROPIC, OLLAMA_CHAT, OLLAMA_GENERATE)


def sse_event(body: Json) -> bytes:
    """Format a server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n\n"


def json_line(body: Json) -> bytes:
    """Format a line of a stream of JSON values."""
    return json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n"
