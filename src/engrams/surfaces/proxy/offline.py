"""Without an upstream: chat answered by quoting memory, and plainly labelled as that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from engrams import clock
from engrams.settings import Settings
from engrams.surfaces.proxy.chat import BODY_BYTES, body_of, hit_of
from engrams.surfaces.proxy.errors import NOTE, event, failure
from engrams.surfaces.proxy.memory import Recall
from engrams.surfaces.proxy.request import Asked, understand
from engrams.types import Hit, Json, Kind, Turn

MODEL = "engrams-offline"
HOW = "For a model's answers name an upstream: `engrams serve --set serve.upstream=http://localhost:11434/v1`."

_LABEL = "[engrams, offline] No language model is connected; these are quotes from memory, not an answer."
_NOTHING = "[engrams, offline] No language model is connected, and nothing in memory comes near this. What you said is kept."
_SILENT = "[engrams, offline] No language model is connected, and this request leaves memory out."
_QUOTE = 300


class Offline:
    """The chat endpoint and the model list of a proxy that has no upstream."""

    def __init__(self, recall: Recall, settings: Settings) -> None:
        self._recall, self._settings = recall, settings

    async def chat(self, request: Request) -> Response:
        raw = await body_of(request)
        asked = understand(request.headers, raw or b"", self._settings)
        if raw is None or asked.envelope is None:
            status, what = (413, f"over {BODY_BYTES:,} bytes") if raw is None else (400, "not a JSON object with a list of messages")
            return failure(status, f"The request is {what}. Send an OpenAI chat request.", "invalid_request")
        hits: tuple[Hit, ...] | None = ()
        if asked.caller and asked.said and asked.caller.top_k:
            found = await self._recall.search(asked.said.text, asked.caller.scope, 2 * asked.caller.top_k + 1)
            hits = None if found is None else _worth(found, asked.said.text)[: asked.caller.top_k]
        if hits is None:
            return failure(503, "Memory could not be read. `engrams doctor` says why.", "memory_unavailable")
        text = answer(asked, hits)
        await self._keep(asked, text)
        note = {NOTE: f"used:{len(hits)}" if hits else f"skipped:{asked.skip}" if asked.skip else "none"}
        if asked.streams:
            return StreamingResponse(_chunks(asked, text), headers=note, media_type="text/event-stream")
        body = {**_completion(text), "memory_hits": [hit_of(hit) for hit in hits]}
        return Response(json.dumps(body), headers=note, media_type="application/json")

    async def models(self, request: Request) -> Response:
        """The list of models, or the one asked for."""
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "engrams"}
        name = request.path_params.get("name")
        if name not in (None, MODEL):
            return failure(404, f"There is only {MODEL}. {HOW}", "model_not_found")
        body = model if name else {"object": "list", "data": [model]}
        return Response(json.dumps(body), media_type="application/json")

    async def _keep(self, asked: Asked, text: str) -> None:
        if asked.caller is None or asked.said is None:
            return
        reply = asked.reply(text)
        kept = Turn(reply.text, "assistant", session=reply.session, external_id=reply.external_id, meta={"model": MODEL})
        await self._recall.settle(self._recall.keep([asked.said, kept], asked.caller.scope))


def answer(asked: Asked, hits: Sequence[Hit]) -> str:
    """The label, one dated quote a line, and how to get a real answer."""
    if asked.caller is None:
        return f"{_SILENT} {HOW}"
    if not hits:
        return f"{_NOTHING} {HOW}"
    return "\n".join([_LABEL, "", *(_quote(hit) for hit in hits), "", HOW])


def _quote(hit: Hit) -> str:
    record = hit.record
    text = " ".join(record.text.split())
    text = text if len(text) <= _QUOTE else text[: _QUOTE - 1].rstrip() + "…"
    day = (record.valid_from or record.recorded_at).strftime("%Y-%m-%d")
    who = {"user": "you", "assistant": "the assistant"}.get(record.role, record.role) if record.kind is Kind.TURN else ""
    who = record.speaker or who
    over = " (no longer so)" if hit.status.value == "superseded" else ""
    return f"- {day}{', ' + who if who else ''}: “{text}”{over}"


def _worth(hits: Sequence[Hit], question: str) -> tuple[Hit, ...]:
    """Without earlier offline answers, which only quote, and without the question itself."""
    return tuple(hit for hit in hits if hit.record.meta.get("model") != MODEL and hit.record.text.strip() != question.strip())


def _completion(text: str) -> dict[str, Json]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": None, "finish_reason": "stop"}
    return {**_head("chat.completion"), "choices": [choice], "usage": _usage()}


async def _chunks(asked: Asked, text: str) -> AsyncIterator[bytes]:
    head = _head("chat.completion.chunk")
    for place, piece in enumerate(text.splitlines(keepends=True)):
        delta = {"role": "assistant", "content": piece} if place == 0 else {"content": piece}
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    options = asked.fields.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        yield event({**head, "choices": [], "usage": _usage()})
    yield b"data: [DONE]\n\n"


def _head(kind: str) -> dict[str, Json]:
    now = clock.now()
    return {"id": f"chatcmpl-{clock.new_id(now)}", "object": kind, "created": int(now.timestamp()), "model": MODEL}


def _usage() -> Mapping[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
