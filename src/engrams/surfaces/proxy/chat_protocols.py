"""Chat protocols: OpenAI's two, Anthropic's and Ollama's two.

A `ChatDialect` holds the path of a protocol, the layout of its requests and the readers of its
answers; `DIALECTS` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engrams.core import Json
from engrams.surfaces.proxy.api_errors import error_body, is_error_text
from engrams.surfaces.proxy.json_splice import (
    BLOCKS,
    INPUT,
    MESSAGES,
    PROMPT,
    ChatRequestLayout,
    text_of,
)

_DISCONNECTED = "upstream_disconnected"
"""Code of the error event of a stream that broke off."""

NOTE = "x-engrams-memory"
"""Header that says what became of memory: used, none or skipped, with a count or a reason."""
PROFILE = "x-engrams-profile"
"""Header with the ids of the memories in the profile of a prompt."""
UNSAVED = "x-engrams-unsaved"
"""Header that says why the user's message was not stored."""


@dataclass(frozen=True, slots=True)
class ChatStreamChunk:
    """Text, id and end mark read from one piece of a stream."""

    text: str = ""
    finished: bool = False
    """The model said that its answer ends here."""

    failed: bool = False
    """The piece is an error."""

    id: str = ""
    """Id of the whole answer, where the piece has it."""


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """Chat API: path, layout of requests, readers of its answers and errors."""

    path: str
    shape: ChatRequestLayout
    parse_piece: Callable[[Mapping[str, Json]], ChatStreamChunk]
    """Reads one piece of a stream."""

    parse_answer: Callable[[Json], str | None]
    """Reads the text of a whole answer; None: it is not one."""

    format_break: Callable[[str], bytes]
    """Formats the error of a stream that broke off."""

    is_json_lines: bool = False
    """A stream is one JSON value a line, not server-sent events."""

    hits: bool = True
    """Whole answers name the memories used."""

    def wants_stream(self, fields: Mapping[str, Json]) -> bool:
        """Return True if the request asks for a stream."""
        return fields.get("stream", self.is_json_lines) is True

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
    response = body.get("response")
    response_id = response.get("id") if isinstance(response, dict) else ""
    delta = body.get("delta") if kind == "response.output_text.delta" else ""
    return ChatStreamChunk(
        text=delta if isinstance(delta, str) else "",
        finished=kind in ("response.completed", "response.incomplete"),
        failed=kind in ("error", "response.failed") or bool(body.get("error")),
        id=response_id if isinstance(response_id, str) else "",
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
            message_id = message.get("id") if isinstance(message, dict) else ""
            return ChatStreamChunk(id=message_id if isinstance(message_id, str) else "")
        case "content_block_start":
            block = body.get("content_block")
            is_text = isinstance(block, dict) and block.get("type") == "text"
            # A text block behind another block begins a line, as in a whole answer.
            return ChatStreamChunk("\n" if is_text and body.get("index") != 0 else "")
        case "content_block_delta":
            delta = body.get("delta")
            if not isinstance(delta, dict) or delta.get("type") != "text_delta":
                return ChatStreamChunk()
            text = delta.get("text")
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
    """Extract the text of an answer of Ollama's protocol."""
    if not isinstance(body, dict) or body.get("error"):
        return None
    return _ollama_text(body) if "message" in body or "response" in body else None


def _ollama_text(body: Mapping[str, Json]) -> str:
    message = body.get("message")
    return text_of(message.get("content") if isinstance(message, dict) else body.get("response"))


def _format_chat_break(text: str) -> bytes:
    return sse_event(error_body(CHAT.path, 502, text, _DISCONNECTED))


def _format_response_break(text: str) -> bytes:
    return b"event: error\n" + sse_event(
        {
            "type": "error",
            "code": _DISCONNECTED,
            "message": text,
            "param": None,
            "sequence_number": 0,
        }
    )


def _format_message_break(text: str) -> bytes:
    return b"event: error\n" + sse_event(error_body(ANTHROPIC.path, 502, text, _DISCONNECTED))


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
    is_json_lines=True,
    hits=False,
)
OLLAMA_GENERATE = ChatDialect(
    path="/api/generate",
    shape=PROMPT,
    parse_piece=parse_ollama_piece,
    parse_answer=parse_ollama_answer,
    format_break=_format_ollama_break,
    is_json_lines=True,
    hits=False,
)

DIALECTS = (CHAT, RESPONSES, ANTHROPIC, OLLAMA_CHAT, OLLAMA_GENERATE)


def sse_event(body: Json) -> bytes:
    """Format a server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n\n"


def json_line(body: Json) -> bytes:
    """Format a line of a stream of JSON values."""
    return json.dumps(body, ensure_ascii=True).encode("ascii") + b"\n"
