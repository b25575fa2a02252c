"""Chat routes where there is no upstream: they answer by quoting memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from engrams.core import Hit, Kind, clock
from engrams.core.ids import new_id
from engrams.settings import Settings
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.chat_endpoint import BODY_BYTES, hit_to_dict, read_body, run_beside
from engrams.surfaces.proxy.chat_protocols import NOTE, UNSAVED, ChatDialect
from engrams.surfaces.proxy.chat_request import (
    ParsedProxyRequest,
    ResponseSessionMap,
    parse_request,
)
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.offline_formats import FORMATS, OfflineAnswer

HOW = (
    "For a model's answers name an upstream: `engrams serve --set"
    " serve.upstream=http://localhost:11434/v1`."
)

_LABEL = (
    "[engrams, offline] No language model is connected; these are quotes from memory, not an"
    " answer."
)
_NOTHING = "[engrams, offline] No language model is connected, and nothing in memory matches this."
_SILENT = "[engrams, offline] No language model is connected, and this request leaves memory out."
_QUOTE_CHARS = 300
_ROLE_NAMES = {"user": "you", "assistant": "the assistant"}


class QuoteAnswerEndpoint:
    """Chat route of one API dialect without an upstream."""

    def __init__(self, memory: TimeLimitedEngine, settings: Settings, dialect: ChatDialect) -> None:
        self._memory = memory
        self._settings = settings
        self._dialect = dialect
        self._threads = ResponseSessionMap(memory.peers, dialect.path)

    async def __call__(self, request: Request) -> Response:
        path = self._dialect.path
        raw = await read_body(request)
        if raw is None:
            return error_response(
                path,
                413,
                f"The request is over {BODY_BYTES:,} bytes. Send less of the history.",
                "request_too_large",
            )
        parse = partial(
            parse_request, request.headers, raw, self._settings, self._dialect, self._threads
        )
        chat_request = await run_beside(len(raw), parse)
        if await self._memory.learn_thread(chat_request):
            chat_request = await run_beside(len(raw), parse)
        if chat_request.envelope is None:
            text = (
                f"The request is not a JSON object with `{self._dialect.shape.key}`. Send a request"
                " of this API."
            )
            return error_response(path, 400, text, "invalid_request")
        if chat_request.refusal:
            return error_response(path, 400, chat_request.refusal, chat_request.refusal_code)
        chat_request = await self._memory.date_question(chat_request)
        hits = await self._find_hits(chat_request)
        if hits is None:
            return error_response(
                path,
                503,
                "Memory could not be read. `engrams doctor` says why.",
                "memory_unavailable",
            )
        if chat_request.caller is not None and chat_request.question is not None:
            # The answer is not stored: it only quotes memory.
            await self._memory.wait_stored(
                self._memory.store([chat_request.question], chat_request.caller.scope)
            )
        return await self._respond(chat_request, hits)

    async def _find_hits(self, chat_request: ParsedProxyRequest) -> tuple[Hit, ...] | None:
        """Find memories to quote; None: memory failed."""
        if not (chat_request.caller and chat_request.question and chat_request.caller.top_k):
            return ()
        question = chat_request.question.text.strip()
        top_k = chat_request.caller.top_k
        # One more: the question itself may be in memory, and is no answer.
        hits = await self._memory.search(question, chat_request.caller.scope, top_k + 1)
        if hits is None:
            return None
        return tuple(hit for hit in hits if hit.record.text.strip() != question)[:top_k]

    async def _respond(self, chat_request: ParsedProxyRequest, hits: tuple[Hit, ...]) -> Response:
        headers = {NOTE: _describe_use(chat_request, hits)}
        unsaved = self._memory.describe_excess(chat_request.question)
        if unsaved:
            headers[UNSAVED] = unsaved
        now = clock.now()
        text = quote_hits(chat_request, hits)
        answer = OfflineAnswer(text, new_id(now), now, chat_request.fields)
        answer_format = FORMATS[self._dialect.path]
        body = answer_format.whole(answer)
        await self._memory.note_answer(chat_request, str(body.get("id") or ""))
        if chat_request.wants_stream:
            media = "application/x-ndjson" if self._dialect.lines else "text/event-stream"
            stream = answer_format.stream(answer)
            return StreamingResponse(stream, headers=headers, media_type=media)
        if self._dialect.hits:
            body["memory_hits"] = [hit_to_dict(hit) for hit in hits]
        return Response(json.dumps(body), headers=headers, media_type="application/json")


def _describe_use(chat_request: ParsedProxyRequest, hits: Sequence[Hit]) -> str:
    """Say for the header what became of memory."""
    if hits:
        return f"used:{len(hits)}"
    return f"skipped:{chat_request.skip_reason}" if chat_request.skip_reason else "none"


def quote_hits(chat_request: ParsedProxyRequest, hits: Sequence[Hit]) -> str:
    """Write an answer that quotes memories with their dates."""
    if chat_request.caller is None:
        return f"{_SILENT} {HOW}"
    if not hits:
        return f"{_NOTHING} {HOW}"
    return "\n".join([_LABEL, "", *(_format_quote(hit) for hit in hits), "", HOW])


def _format_quote(hit: Hit) -> str:
    record = hit.record
    text = " ".join(hit.annotate(record.text).split())
    if len(text) > _QUOTE_CHARS:
        text = text[: _QUOTE_CHARS - 1].rstrip() + "…"
    day = (record.valid_from or record.recorded_at).strftime("%Y-%m-%d")
    speaker = record.speaker
    if not speaker and record.kind is Kind.TURN:
        speaker = _ROLE_NAMES.get(record.role, record.role)
    if hit.status.value == "superseded":
        mark = " (outdated)"
    elif hit.outdated and hit.outdated.is_told and not hit.ended_clauses:
        mark = f" (may be outdated, {hit.outdated.tell()})"
    else:
        mark = ""
    return f"- {day}{', ' + speaker if speaker else ''}: “{text}”{mark}"
