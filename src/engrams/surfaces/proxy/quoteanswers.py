"""Answer chats by quoting memory where there is no upstream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from engrams import clock
from engrams.settings import Settings
from engrams.surfaces.proxy.chatendpoint import BODY_BYTES, hit_to_dict, read_body
from engrams.surfaces.proxy.chatprotocols import NOTE, UNSAVED, error_response, sse_event
from engrams.surfaces.proxy.chatrequest import ParsedProxyRequest, parse_request
from engrams.surfaces.proxy.memorydeadlines import TimeLimitedEngine
from engrams.types import Hit, Json, Kind

MODEL = "engrams-offline"
HOW = "For a model's answers name an upstream: `engrams serve --set serve.upstream=http://localhost:11434/v1`."

_LABEL = "[engrams, offline] No language model is connected; these are quotes from memory, not an answer."
_NOTHING = "[engrams, offline] No language model is connected, and nothing in memory matches this."
_SILENT = "[engrams, offline] No language model is connected, and this request leaves memory out."
_QUOTE = 300


class QuoteAnswerEndpoint:
    """Chat endpoint and model list without an upstream."""

    def __init__(self, memory: TimeLimitedEngine, settings: Settings) -> None:
        self._memory, self._settings = memory, settings

    async def chat(self, request: Request) -> Response:
        raw = await read_body(request)
        chat_request = parse_request(request.headers, raw or b"", self._settings)
        if raw is None or chat_request.envelope is None:
            status, what = (413, f"over {BODY_BYTES:,} bytes") if raw is None else (400, "not a JSON object with a list of messages")
            return error_response(status, f"The request is {what}. Send an OpenAI chat request.", "invalid_request")
        if chat_request.refusal:
            return error_response(400, chat_request.refusal, "owner_missing")
        hits: tuple[Hit, ...] | None = ()
        if chat_request.caller and chat_request.question and chat_request.caller.top_k:
            said = chat_request.question.text.strip()
            found = await self._memory.search(said, chat_request.caller.scope, chat_request.caller.top_k + 1)
            others = None if found is None else [hit for hit in found if hit.record.text.strip() != said]
            hits = None if others is None else tuple(others[: chat_request.caller.top_k])
        if hits is None:
            return error_response(503, "Memory could not be read. `engrams doctor` says why.", "memory_unavailable")
        text = quote_hits(chat_request, hits)
        if chat_request.caller is not None and chat_request.question is not None:
            # The answer quotes memory: it is none itself.
            await self._memory.wait_stored(self._memory.store([chat_request.question], chat_request.caller.scope))
        note = {NOTE: f"used:{len(hits)}" if hits else f"skipped:{chat_request.skip_reason}" if chat_request.skip_reason else "none"}
        if unsaved := self._memory.describe_excess(chat_request.question):
            note[UNSAVED] = unsaved
        if chat_request.wants_stream:
            return StreamingResponse(_chunks(chat_request, text), headers=note, media_type="text/event-stream")
        body = {**_completion_body(text), "memory_hits": [hit_to_dict(hit) for hit in hits]}
        return Response(json.dumps(body), headers=note, media_type="application/json")

    async def models(self, request: Request) -> Response:
        """List the models, or return the one asked for."""
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "engrams"}
        name = request.path_params.get("name")
        if name not in (None, MODEL):
            return error_response(404, f"There is only {MODEL}. {HOW}", "model_not_found")
        body = model if name else {"object": "list", "data": [model]}
        return Response(json.dumps(body), media_type="application/json")


def quote_hits(chat_request: ParsedProxyRequest, hits: Sequence[Hit]) -> str:
    """Write an answer that quotes memories with their dates."""
    if chat_request.caller is None:
        return f"{_SILENT} {HOW}"
    if not hits:
        return f"{_NOTHING} {HOW}"
    return "\n".join([_LABEL, "", *(_format_quote(hit) for hit in hits), "", HOW])


def _format_quote(hit: Hit) -> str:
    record = hit.record
    text = " ".join(record.text.split())
    text = text if len(text) <= _QUOTE else text[: _QUOTE - 1].rstrip() + "…"
    day = (record.valid_from or record.recorded_at).strftime("%Y-%m-%d")
    who = {"user": "you", "assistant": "the assistant"}.get(record.role, record.role) if record.kind is Kind.TURN else ""
    who = record.speaker or who
    over = " (outdated)" if hit.status.value == "superseded" else " (may be outdated)" if hit.outdated else ""
    return f"- {day}{', ' + who if who else ''}: “{text}”{over}"


def _completion_body(text: str) -> dict[str, Json]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": None, "finish_reason": "stop"}
    return {**_completion_head("chat.completion"), "choices": [choice], "usage": _usage()}


async def _chunks(chat_request: ParsedProxyRequest, text: str) -> AsyncIterator[bytes]:
    head = _completion_head("chat.completion.chunk")
    for place, piece in enumerate(text.splitlines(keepends=True)):
        delta = {"role": "assistant", "content": piece} if place == 0 else {"content": piece}
        yield sse_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield sse_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    options = chat_request.fields.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        yield sse_event({**head, "choices": [], "usage": _usage()})
    yield b"data: [DONE]\n\n"


def _completion_head(kind: str) -> dict[str, Json]:
    now = clock.now()
    return {"id": f"chatcmpl-{clock.new_id(now)}", "object": kind, "created": int(now.timestamp()), "model": MODEL}


def _usage() -> Mapping[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
