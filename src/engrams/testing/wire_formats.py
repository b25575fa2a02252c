"""Format replies: chat and responses, Messages, Ollama, embeddings, rerank."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engrams.testing import messages_format
from engrams.testing.embedder import hash_vector
from engrams.testing.model_script import (
    ReceivedModelRequest,
    ScriptedExchange,
    arguments_text,
    split_words,
    to_json,
)

_CREATED = 1_767_600_000
_DATE = "2026-01-05T08:00:00Z"
_DECISION_USAGE = {
    "input_tokens": 1,
    "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1,
}


def to_body(speech: ScriptedExchange) -> dict[str, Any]:
    """Format the reply as one JSON body."""
    match speech.request.route:
        case "responses":
            return _response_body(speech, "completed")
        case "messages":
            return messages_format.to_message(speech)
        case "ollama":
            return _ollama_body(speech, _ollama_message(speech), is_complete=True)
        case _:
            message = {
                "role": "assistant",
                "content": speech.reply.text or None,
                "refusal": None,
            } | _tool_calls(speech)
            choice = {
                "index": 0,
                "message": message,
                "finish_reason": speech.finish,
                "logprobs": None,
            }
            return _chat_head(speech, "chat.completion") | {
                "choices": [choice],
                "usage": _usage_body(speech),
            }


def to_stream(speech: ScriptedExchange) -> Iterator[bytes]:
    """Yield the reply piece by piece, as bytes to send."""
    match speech.request.route:
        case "responses":
            for number, event in enumerate(_response_events(speech)):
                yield (
                    f"event: {event['type']}\ndata:"
                    f" {to_json(event | {'sequence_number': number})}\n\n".encode()
                )
        case "messages":
            for event in messages_format.to_events(speech):
                yield f"event: {event['type']}\ndata: {to_json(event)}\n\n".encode()
        case "ollama":
            for piece in split_words(speech.reply.text):
                yield (
                    to_json(
                        _ollama_body(
                            speech, {"role": "assistant", "content": piece}, is_complete=False
                        )
                    ).encode()
                    + b"\n"
                )
            last = _ollama_message(speech) | {"content": ""}
            yield to_json(_ollama_body(speech, last, is_complete=True)).encode() + b"\n"
        case _:
            for chunk in _chat_chunks(speech):
                yield f"data: {to_json(chunk)}\n\n".encode()
            yield b"data: [DONE]\n\n"


def error_body(request: ReceivedModelRequest, message: str, status: int) -> dict[str, Any]:
    """Format an error as the server of that route would."""
    if request.route in ("ollama", "embed", "tags"):
        return {"error": message}
    if request.route in ("messages", "tokens"):
        return messages_format.to_error(message, status)
    kinds = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    return {
        "error": {
            "message": message,
            "type": "server_error" if status >= 500 else "invalid_request_error",
            "param": None,
            "code": kinds.get(status),
        }
    }


def stream_error(request: ReceivedModelRequest, message: str) -> bytes:
    """Format an error in the middle of a stream."""
    match request.route:
        case "responses":
            event = {
                "type": "error",
                "code": "server_error",
                "message": message,
                "param": None,
                "sequence_number": 999,
            }
            return f"event: error\ndata: {to_json(event)}\n\n".encode()
        case "messages":
            return f"event: error\ndata: {to_json(messages_format.to_error(message, 500))}\n\n".encode()
        case "ollama":
            return to_json({"error": message}).encode() + b"\n"
        case _:
            return f"data: {to_json(error_body(request, message, 500))}\n\n".encode()


def embeddings_body(request: ReceivedModelRequest, dimension: int) -> dict[str, Any]:
    """Answer /v1/embeddings and Ollama's /api/embed with hashed words."""
    inputs = request.body.get("input", "")
    texts = (
        [inputs]
        if isinstance(inputs, str) or (inputs and isinstance(inputs[0], int))
        else list(inputs)
    )
    dimensions = request.body.get("dimensions")
    size = dimensions if isinstance(dimensions, int) and dimensions > 0 else dimension
    vectors = [hash_vector(text if isinstance(text, str) else repr(text), size) for text in texts]
    tokens = sum(len(str(text).split()) for text in texts)
    if request.route == "embed":
        return {
            "model": request.model,
            "embeddings": vectors,
            "total_duration": 1,
            "load_duration": 1,
            "prompt_eval_count": tokens,
        }
    packed = request.body.get("encoding_format") == "base64"
    rows = [
        {"object": "embedding", "index": index, "embedding": _pack(numbers) if packed else numbers}
        for index, numbers in enumerate(vectors)
    ]
    return {
        "object": "list",
        "model": request.model,
        "data": rows,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def rerank_body(
    request: ReceivedModelRequest, score: Callable[[str, str], float] | None
) -> dict[str, Any]:
    """Answer /rerank, best first; scores default to shared words."""
    query = str(request.body.get("query", ""))
    texts = [
        str(text.get("text", "") if isinstance(text, Mapping) else text)
        for text in request.body.get("documents") or []
    ]
    measure = score or _agreement
    results = [
        {"index": index, "relevance_score": measure(query, text)}
        for index, text in enumerate(texts)
    ]
    results.sort(key=lambda result: (-result["relevance_score"], result["index"]))
    return {
        "id": "rerank-1",
        "model": request.model,
        "results": results[: request.body.get("top_n") or len(results)],
        "usage": {"total_tokens": 1},
    }


def decisions_body(
    request: ReceivedModelRequest, decide: Callable[[str, str], float] | None
) -> dict[str, Any]:
    """Answer /v1/decisions: a probability for each predicate, in the order of the questions."""
    text = str(request.body.get("input") or "")
    answers = [
        {
            "type": "predicate",
            "name": question.get("name"),
            "probability": 0.5 if decide is None else decide(text, question["instructions"]),
        }
        for question in request.body.get("questions") or []
    ]
    return {"model": request.model, "answers": answers, "usage": _DECISION_USAGE}


def models_body(names: tuple[str, ...], route: str) -> dict[str, Any]:
    """Answer /v1/models and /api/tags."""
    if route == "tags":
        return {
            "models": [
                {
                    "name": name,
                    "model": name,
                    "modified_at": _DATE,
                    "size": 1,
                    "digest": "0" * 12,
                    "details": {},
                }
                for name in names
            ]
        }
    return {
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": _CREATED, "owned_by": "engrams"}
            for name in names
        ],
    }


def _agreement(query: str, text: str) -> float:
    pairs = zip(hash_vector(query, 4096), hash_vector(text, 4096), strict=True)
    return min(1.0, max(0.0, sum(query_value * text_value for query_value, text_value in pairs)))


def _pack(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def _usage_body(speech: ScriptedExchange) -> dict[str, int]:
    prompt, answer = speech.usage
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _chat_head(speech: ScriptedExchange, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{speech.number}",
        "object": kind,
        "created": _CREATED + speech.number,
        "model": speech.request.model,
    }


def _tool_calls(speech: ScriptedExchange) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{speech.number}_{index}",
            "type": "function",
            "function": {"name": tool.name, "arguments": arguments_text(tool.arguments)},
        }
        for index, tool in enumerate(speech.reply.tools)
    ]
    return {"tool_calls": calls} if calls else {}


def _chat_chunks(speech: ScriptedExchange) -> Iterator[dict[str, Any]]:
    head = _chat_head(speech, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in split_words(speech.reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_tool_calls(speech).get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        opening = {"name": call["function"]["name"], "arguments": ""}
        yield chunk(
            {
                "tool_calls": [
                    {"index": index, "id": call["id"], "type": "function", "function": opening}
                ]
            }
        )
        for piece in split_words(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, speech.finish)
    if (speech.request.body.get("stream_options") or {}).get("include_usage"):
        yield head | {"choices": [], "usage": _usage_body(speech)}


def _output_items(speech: ScriptedExchange, status: str) -> list[dict[str, Any]]:
    """Format the output of the Responses API: the message first, then the tool calls."""
    items: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{speech.number}_{index}",
            "call_id": f"call_{speech.number}_{index}",
            "name": tool.name,
            "arguments": arguments_text(tool.arguments),
            "status": status,
        }
        for index, tool in enumerate(speech.reply.tools)
    ]
    if speech.reply.text or not items:
        part = {"type": "output_text", "text": speech.reply.text, "annotations": []}
        items.insert(
            0,
            {
                "type": "message",
                "id": f"msg_{speech.number}",
                "role": "assistant",
                "status": status,
                "content": [part],
            },
        )
    return items


def _response_body(speech: ScriptedExchange, status: str) -> dict[str, Any]:
    prompt, answer = speech.usage
    is_complete = status == "completed"
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer,
        "total_tokens": prompt + answer,
    }
    return {
        "id": f"resp_{speech.number}",
        "object": "response",
        "created_at": _CREATED + speech.number,
        "status": status,
        "model": speech.request.model,
        "output": _output_items(speech, status) if is_complete else [],
        "usage": usage | {"output_tokens_details": {"reasoning_tokens": 0}}
        if is_complete
        else None,
        "instructions": speech.request.body.get("instructions"),
        "previous_response_id": speech.request.body.get("previous_response_id"),
        "tools": speech.request.body.get("tools") or [],
        "tool_choice": speech.request.body.get("tool_choice") or "auto",
        "parallel_tool_calls": True,
        "metadata": speech.request.body.get("metadata") or {},
        "error": None,
        "incomplete_details": None,
    }


def _response_events(speech: ScriptedExchange) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response_body(speech, "in_progress")}
    yield {"type": "response.in_progress", "response": _response_body(speech, "in_progress")}
    for index, item in enumerate(_output_items(speech, "completed")):
        empty_fields: dict[str, Any] = (
            {"content": []} if item["type"] == "message" else {"arguments": ""}
        )
        opened = item | {"status": "in_progress"} | empty_fields
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        location = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _text_events(item, location | {"content_index": 0})
        else:
            for piece in split_words(item["arguments"]):
                yield location | {"type": "response.function_call_arguments.delta", "delta": piece}
            yield location | {
                "type": "response.function_call_arguments.done",
                "arguments": item["arguments"],
                "name": item["name"],
            }
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": _response_body(speech, "completed")}


def _text_events(item: Mapping[str, Any], location: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    part = item["content"][0]
    yield {**location, "type": "response.content_part.added", "part": part | {"text": ""}}
    for piece in split_words(part["text"]):
        yield {**location, "type": "response.output_text.delta", "delta": piece, "logprobs": []}
    yield {**location, "type": "response.output_text.done", "text": part["text"], "logprobs": []}
    yield {**location, "type": "response.content_part.done", "part": part}


def _ollama_message(speech: ScriptedExchange) -> dict[str, Any]:
    calls = []
    for tool in speech.reply.tools:
        arguments = tool.arguments
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                return {"role": "assistant", "content": arguments}
        calls.append({"function": {"name": tool.name, "arguments": arguments}})
    message: dict[str, Any] = {"role": "assistant", "content": speech.reply.text}
    return message | {"tool_calls": calls} if calls else message


def _ollama_body(
    speech: ScriptedExchange, message: dict[str, Any], *, is_complete: bool
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": speech.request.model,
        "created_at": _DATE,
        "message": message,
        "done": is_complete,
    }
    if is_complete:
        prompt, answer = speech.usage
        reason = "length" if speech.finish == "length" else "stop"
        body |= {
            "done_reason": reason,
            "total_duration": 1,
            "prompt_eval_count": prompt,
            "eval_count": answer,
        }
    return body
