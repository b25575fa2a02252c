"""Format replies in Anthropic's Messages protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engrams.core import Json
from engrams.testing.model_script import ScriptedExchange, ScriptedToolCall, split_words

_KINDS = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def to_message(speech: ScriptedExchange) -> dict[str, Any]:
    """Format the reply as one message."""
    return _head(speech) | {
        "content": _blocks(speech),
        "stop_reason": _stop_reason(speech),
        "usage": _usage(speech),
    }


def to_events(speech: ScriptedExchange) -> Iterator[dict[str, Any]]:
    """Yield the reply as events of a stream."""
    usage = _usage(speech)
    yield {
        "type": "message_start",
        "message": _head(speech)
        | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}},
    }
    yield {"type": "ping"}
    for index, block in enumerate(_blocks(speech)):
        text = block["type"] == "text"
        empty_fields: dict[str, Any] = {"text": ""} if text else {"input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block | empty_fields}
        for piece in split_words(block["text"] if text else json.dumps(block["input"])):
            delta = (
                {"type": "text_delta", "text": piece}
                if text
                else {"type": "input_json_delta", "partial_json": piece}
            )
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": _stop_reason(speech), "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": end,
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def to_error(message: str, status: int) -> dict[str, Any]:
    """Format an error."""
    kind = _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}


def _head(speech: ScriptedExchange) -> dict[str, Any]:
    head = {
        "id": f"msg_{speech.number}",
        "type": "message",
        "role": "assistant",
        "model": speech.request.model,
    }
    return {**head, "stop_sequence": None}


def _blocks(speech: ScriptedExchange) -> list[dict[str, Any]]:
    calls = [
        {
            "type": "tool_use",
            "id": f"toolu_{speech.number}_{index}",
            "name": tool.name,
            "input": _to_input(tool),
        }
        for index, tool in enumerate(speech.reply.tools)
    ]
    return (
        [{"type": "text", "text": speech.reply.text}, *calls]
        if speech.reply.text or not calls
        else calls
    )


def _to_input(tool: ScriptedToolCall) -> Json:
    try:
        return json.loads(tool.arguments) if isinstance(tool.arguments, str) else tool.arguments
    except ValueError:
        return {"text": tool.arguments}


def _stop_reason(speech: ScriptedExchange) -> str:
    return {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}.get(
        speech.finish, speech.finish
    )


def _usage(speech: ScriptedExchange) -> dict[str, int]:
    prompt, answer = speech.usage
    return {"input_tokens": prompt, "output_tokens": answer}
