"""Formats of answers that this program gives itself, in every chat protocol.

`FORMATS` has a writer of whole answers and one of streams for each protocol's path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from engrams.core import Json
from engrams.surfaces.proxy.chat_protocols import (
    ANTHROPIC,
    CHAT,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
    json_line,
    sse_event,
)

MODEL = "engrams-offline"


_CHAT_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(frozen=True, slots=True)
class OfflineAnswer:
    """Text to answer with, and what every protocol says beside it."""

    text: str
    id: str
    """Unique; each protocol puts its own prefix before it."""

    now: datetime
    fields: Mapping[str, Json]
    """Fields of the request."""

    model: str = MODEL
    """Model that the answer is said to come from."""

    @property
    def pieces(self) -> list[str]:
        """Lines of the text, as a stream sends them."""
        return self.text.splitlines(keepends=True)


@dataclass(frozen=True, slots=True)
class OfflineFormat:
    """Writers of a chat protocol: whole answers and streams."""

    whole: Callable[[OfflineAnswer], dict[str, Json]]
    stream: Callable[[OfflineAnswer], Iterator[bytes]]


def _chat_whole(answer: OfflineAnswer) -> dict[str, Json]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text},
        "logprobs": None,
        "finish_reason": "stop",
    }
    return {**_chat_head(answer, "chat.completion"), "choices": [choice], "usage": _CHAT_USAGE}


def _chat_stream(answer: OfflineAnswer) -> Iterator[bytes]:
    head = _chat_head(answer, "chat.completion.chunk")
    for index, piece in enumerate(answer.pieces):
        delta = {"role": "assistant", "content": piece} if index == 0 else {"content": piece}
        yield sse_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield sse_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    options = answer.fields.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        yield sse_event({**head, "choices": [], "usage": _CHAT_USAGE})
    yield b"data: [DONE]\n\n"


def _chat_head(answer: OfflineAnswer, kind: str) -> dict[str, Json]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": kind,
        "created": int(answer.now.timestamp()),
        "model": answer.model,
    }


def _response_whole(answer: OfflineAnswer) -> dict[str, Json]:
    details = {
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details}
    return {
        **_response_head(answer, "completed"),
        "output": [_response_item(answer, "completed")],
        "usage": usage,
    }


def _response_stream(answer: OfflineAnswer) -> Iterator[bytes]:
    for number, event in enumerate(_response_events(answer)):
        yield _named_event({**event, "sequence_number": number})


def _response_events(answer: OfflineAnswer) -> Iterator[dict[str, Json]]:
    started = {**_response_head(answer, "in_progress"), "output": [], "usage": None}
    item = _response_item(answer, "completed")
    (part,) = item["content"]
    position = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    yield {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**item, "status": "in_progress", "content": []},
    }
    yield {"type": "response.content_part.added", **position, "part": {**part, "text": ""}}
    for piece in answer.pieces:
        yield {"type": "response.output_text.delta", **position, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **position, "text": answer.text, "logprobs": []}
    yield {"type": "response.content_part.done", **position, "part": part}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": _response_whole(answer)}


def _response_head(answer: OfflineAnswer, status: str) -> dict[str, Json]:
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": int(answer.now.timestamp()),
        "status": status,
        "model": answer.model,
        "instructions": answer.fields.get("instructions"),
        "previous_response_id": answer.fields.get("previous_response_id"),
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
    }


def _response_item(answer: OfflineAnswer, status: str) -> dict[str, Json]:
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{answer.id}",
        "role": "assistant",
        "status": status,
        "content": [part],
    }


def _message_whole(answer: OfflineAnswer) -> dict[str, Json]:
    return {
        **_message_head(answer),
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": "end_turn",
    }


def _message_stream(answer: OfflineAnswer) -> Iterator[bytes]:
    yield _named_event(
        {
            "type": "message_start",
            "message": {**_message_head(answer), "content": [], "stop_reason": None},
        }
    )
    yield _named_event(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    )
    for piece in answer.pieces:
        yield _named_event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }
        )
    yield _named_event({"type": "content_block_stop", "index": 0})
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _named_event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}})
    yield _named_event({"type": "message_stop"})


def _message_head(answer: OfflineAnswer) -> dict[str, Json]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    head = {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": answer.model}
    return {**head, "stop_sequence": None, "usage": usage}


def _ollama_format(write: Callable[[str], dict[str, Json]]) -> OfflineFormat:
    """Build Ollama's format; ``write`` puts a text in its member."""

    def make_line(answer: OfflineAnswer, text: str, *, is_last: bool) -> dict[str, Json]:
        line: dict[str, Json] = {
            "model": answer.model,
            "created_at": answer.now.isoformat(),
            **write(text),
            "done": is_last,
        }
        if is_last:
            line |= {
                "done_reason": "stop",
                "total_duration": 0,
                "prompt_eval_count": 0,
                "eval_count": 0,
            }
        return line

    def stream(answer: OfflineAnswer) -> Iterator[bytes]:
        for piece in answer.pieces:
            yield json_line(make_line(answer, piece, is_last=False))
        yield json_line(make_line(answer, "", is_last=True))

    return OfflineFormat(lambda answer: make_line(answer, answer.text, is_last=True), stream)


def _named_event(body: dict[str, Json]) -> bytes:
    return f"event: {body['type']}\n".encode() + sse_event(body)


FORMATS: Mapping[str, OfflineFormat] = {
    CHAT.path: OfflineFormat(_chat_whole, _chat_stream),
    RESPONSES.path: OfflineFormat(_response_whole, _response_stream),
    ANTHROPIC.path: OfflineFormat(_message_whole, _message_stream),
    OLLAMA_CHAT.path: _ollama_format(
        lambda text: {"message": {"role": "assistant", "content": text}}
    ),
    OLLAMA_GENERATE.path: _ollama_format(lambda text: {"response": text}),
}
"""Formats by path."""
