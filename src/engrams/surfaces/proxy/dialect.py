"""The kinds of request that carry a conversation: where they go, and how their answers are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engrams.surfaces.proxy.body import INPUT, MESSAGES, PROMPT, Shape, text_of
from engrams.surfaces.proxy.errors import event, line, problem
from engrams.types import Json

_BROKEN = "upstream_disconnected"


@dataclass(frozen=True, slots=True)
class Piece:
    """What one part of a stream says. ``id``: that of the whole answer. ``finished``: the model said that it is done."""

    text: str = ""
    finished: bool = False
    failed: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """``lines``: a stream is one JSON value a line, not server-sent events. ``hits``: whole answers name the memories used.

    ``answer`` gives the text of a whole answer; None: it is not one. ``broken`` says in a stream that it broke off.
    """

    path: str
    shape: Shape
    piece: Callable[[Mapping[str, Json]], Piece]
    answer: Callable[[Json], str | None]
    broken: Callable[[str], bytes]
    lines: bool = False
    hits: bool = True

    def streams(self, fields: Mapping[str, Json]) -> bool:
        """Whether the request asks for a stream."""
        return fields.get("stream", self.lines) is True


def chat_piece(body: Mapping[str, Json]) -> Piece:
    """Of the first choice of a chat chunk."""
    text, finished = "", False
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            delta = choice.get("delta")
            text += text_of(delta.get("content")) if isinstance(delta, dict) else ""
            finished = finished or bool(choice.get("finish_reason"))
    return Piece(text, finished, bool(body.get("error")))


def chat_answer(body: Json) -> str | None:
    """The text of the first choice of a whole chat completion."""
    choices = body.get("choices") if isinstance(body, dict) and not body.get("error") else None
    if not isinstance(choices, list):
        return None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    return text_of(message.get("content")) if isinstance(message, dict) else ""


def response_piece(body: Mapping[str, Json]) -> Piece:
    """Of a typed event of the Responses protocol."""
    kind = body.get("type")
    held = body.get("response")
    name = held.get("id") if isinstance(held, dict) else ""
    delta = body.get("delta") if kind == "response.output_text.delta" else ""
    return Piece(
        delta if isinstance(delta, str) else "",
        kind in ("response.completed", "response.incomplete"),
        kind in ("error", "response.failed") or bool(body.get("error")),
        name if isinstance(name, str) else "",
    )


def response_answer(body: Json) -> str | None:
    """The text of every message of a whole response."""
    output = body.get("output") if isinstance(body, dict) and not body.get("error") else None
    if not isinstance(output, list):
        return None
    messages = (item for item in output if isinstance(item, dict) and item.get("type") == "message")
    return "\n".join(text for message in messages if (text := text_of(message.get("content"))))


def ollama_piece(body: Mapping[str, Json]) -> Piece:
    """Of a line of Ollama's own protocol."""
    return Piece(_ollama_text(body), body.get("done") is True, bool(body.get("error")))


def ollama_answer(body: Json) -> str | None:
    known = isinstance(body, dict) and not body.get("error") and ("message" in body or "response" in body)
    return _ollama_text(body) if known else None


def _ollama_text(body: Mapping[str, Json]) -> str:
    message = body.get("message")
    return text_of(message.get("content") if isinstance(message, dict) else body.get("response"))


def _chat_broken(text: str) -> bytes:
    return event(problem(text, "upstream_error", _BROKEN))


def _response_broken(text: str) -> bytes:
    return b"event: error\n" + event({"type": "error", "code": _BROKEN, "message": text, "param": None, "sequence_number": 0})


def _ollama_broken(text: str) -> bytes:
    return line({"error": text})


CHAT = Dialect("/v1/chat/completions", MESSAGES, chat_piece, chat_answer, _chat_broken)
RESPONSES = Dialect("/v1/responses", INPUT, response_piece, response_answer, _response_broken)
OLLAMA_CHAT = Dialect("/api/chat", MESSAGES, ollama_piece, ollama_answer, _ollama_broken, lines=True, hits=False)
OLLAMA_GENERATE = Dialect("/api/generate", PROMPT, ollama_piece, ollama_answer, _ollama_broken, lines=True, hits=False)

DIALECTS = (CHAT, RESPONSES, OLLAMA_CHAT, OLLAMA_GENERATE)
