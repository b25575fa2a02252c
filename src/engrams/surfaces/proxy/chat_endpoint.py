"""Chat routes with an upstream: add memory, relay the answer, store both turns.

`ProxyChatEndpoint` serves one protocol. Memory never fails a chat: where it is late, broken or
refused by the model server, the request goes upstream without it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import httpx2
from starlette.requests import Request
from starlette.responses import Response

from engrams.core import MEMORY_ROLE, Hit, Json, is_blank
from engrams.settings import Settings
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.chat_protocols import UNSAVED, ChatDialect
from engrams.surfaces.proxy.chat_request import (
    ParsedProxyRequest,
    ResponseSessionMap,
    parse_request,
)
from engrams.surfaces.proxy.command_answers import CommandAnswerer
from engrams.surfaces.proxy.json_splice import append_member
from engrams.surfaces.proxy.memory_deadlines import RequestMemoryContext, TimeLimitedEngine
from engrams.surfaces.proxy.relay import (
    RelayResponse,
    StreamedAnswerRecorder,
    run_call,
    wait_disconnect,
)
from engrams.surfaces.proxy.sent_files import SentFileKeeper
from engrams.surfaces.proxy.upstream_servers import (
    RawHeaders,
    UpstreamRouter,
    UpstreamServer,
    no_upstream_error,
    response_headers,
)

BODY_BYTES = 256_000_000
"""Size of a request at most."""

_LARGE_BYTES = 1_000_000
"""Bodies above this are parsed in a thread, so that streams go on meanwhile."""
_REFUSED = (400, 413, 422)
"""Statuses of a model server that may mean: there is too much, or too unusual, in this request."""

_log = logging.getLogger("engrams.proxy")
T = TypeVar("T")


class ProxyChatEndpoint:
    """Chat route of one API dialect: recall, forward upstream, store."""

    def __init__(
        self,
        upstreams: UpstreamRouter,
        memory: TimeLimitedEngine,
        settings: Settings,
        dialect: ChatDialect,
    ) -> None:
        self._upstreams = upstreams
        self._memory = memory
        self._settings = settings
        self._dialect = dialect
        self._threads = ResponseSessionMap(memory.peers, dialect.path)
        self._commands = CommandAnswerer(memory, settings, dialect)
        self._files = SentFileKeeper(memory, is_on=settings.serve.keep_files)

    async def __call__(self, request: Request) -> Response:
        raw = await read_body(request)
        if raw is None:
            text = f"The request is larger than {BODY_BYTES:,} bytes. Send less of the history."
            return error_response(self._dialect.path, 413, text, "request_too_large")
        parse = partial(
            parse_request, request.headers, raw, self._settings, self._dialect, self._threads
        )
        chat_request = await run_beside(len(raw), parse)
        if await self._memory.learn_thread(chat_request):
            chat_request = await run_beside(len(raw), parse)
        if chat_request.refusal:
            return error_response(
                self._dialect.path, 400, chat_request.refusal, chat_request.refusal_code
            )
        command_answer = await self._commands.answer(chat_request)
        if command_answer.response is not None:
            return command_answer.response
        upstream = self._upstreams.find(chat_request.model)
        if upstream is None:
            return no_upstream_error(self._dialect.path, chat_request.model)
        chat_request = await self._memory.date_question(chat_request)
        if chat_request.caller is not None:
            self._memory.follow(chat_request.model)
        found_memory = await self._memory.find_memory(chat_request)
        memory = found_memory.with_notice(command_answer.model_notice)
        with ExitStack() as during_answer:
            if self._settings.chat.provider != "none" and upstream.is_at(self._settings.chat.url):
                during_answer.enter_context(self._memory.serve_person())
            response = await run_call(
                wait_disconnect(request.receive),
                lambda departure: self._answer(request, chat_request, memory, upstream, departure),
            )
            if isinstance(response, RelayResponse):
                response.release_after(during_answer.pop_all())
        return response

    async def _answer(
        self,
        request: Request,
        chat_request: ParsedProxyRequest,
        memory: RequestMemoryContext,
        upstream: UpstreamServer,
        departure: asyncio.Task[None],
    ) -> Response:
        """Ask the upstream; ``departure`` ends when the client has left."""
        unsaved = await self._memory.describe_unsaved(chat_request.question)
        stored_note = {UNSAVED: unsaved} if unsaved else {}
        # Before the upstream is asked: the person's words outlive an outage, a client that leaves
        # and a kill.
        storing = self._memory.store_question(chat_request)
        try:
            answer = await self._send(request, chat_request, upstream, memory.text)
            if answer.status_code in _REFUSED and memory.text:
                await answer.aclose()
                _log.warning(
                    "the upstream refused a request with memory in it (%d); it is sent again"
                    " without",
                    answer.status_code,
                )
                memory = RequestMemoryContext("", (), "skipped:refused")
                answer = await self._send(request, chat_request, upstream)
            note = {
                **memory.headers,
                **stored_note,
                **await self._keep_files(request, chat_request, storing),
            }
            if answer.status_code != 200 or chat_request.caller is None:
                headers = _with_note(response_headers(answer, decoded=False), note)
                return RelayResponse(answer, headers, departure)
            if _is_stream(answer, chat_request):
                max_chars = self._settings.limits.text_bytes // 4  # of four bytes at most each
                recorder = StreamedAnswerRecorder(self._memory, chat_request, max_chars, storing)
                headers = _with_note(response_headers(answer, decoded=True), note)
                return RelayResponse(answer, headers, departure, recorder)
            body = await answer.aread()
        except httpx2.HTTPError as error:
            files_note = await self._keep_files(request, chat_request, storing)
            note = {**memory.headers, **stored_note, **files_note}
            return upstream.unreachable_error(self._dialect.path, error, note)
        whole = WholeAnswer(answer, body, memory, note)
        return await self._finish_whole_answer(whole, chat_request, storing)

    async def _keep_files(
        self,
        request: Request,
        chat_request: ParsedProxyRequest,
        storing: asyncio.Task[bool] | None,
    ) -> dict[str, str]:
        """Wait until the question is stored, and keep its files; return the header about them."""
        await self._memory.wait_stored(storing)
        # A server without the REST API has no uploads.
        uploads = getattr(request.app.state, "uploads", None)
        return await self._files.keep(chat_request, uploads)

    async def _send(
        self,
        request: Request,
        chat_request: ParsedProxyRequest,
        upstream: UpstreamServer,
        memory: str = "",
    ) -> httpx2.Response:
        body = await run_beside(len(chat_request.raw), partial(chat_request.upstream_body, memory))
        headers = upstream.request_headers(
            request.headers.raw, b"content-length", b"accept-encoding"
        )
        # Plain bytes: a compressed stream would have to be unpacked here before it could be read
        # along.
        headers += [(b"content-length", str(len(body)).encode()), (b"accept-encoding", b"identity")]
        url = upstream.url_for(self._dialect.path.encode(), request.scope["query_string"])
        return await upstream.send("POST", url, headers, body)

    async def _finish_whole_answer(
        self,
        answer: WholeAnswer,
        chat_request: ParsedProxyRequest,
        storing: asyncio.Task[bool] | None,
    ) -> Response:
        """Store the turn of a whole answer and name the memories used.

        ``storing``: the task that stores the question, which comes first.
        """
        headers = _with_note(response_headers(answer.response, decoded=True), answer.note)
        body = answer.body
        parsed = parse_json(body)
        text = self._dialect.read_answer(parsed)
        if text is not None and chat_request.caller is not None:
            await self._memory.note_answer(chat_request, str(parsed.get("id") or ""))
            if not is_blank(text):
                turn = chat_request.answer_turn(text)
                await self._memory.wait_stored(
                    self._memory.store_answer(chat_request, turn, storing)
                )
            if chat_request.skip_reason != "top_k" and self._dialect.hits:
                hits = [hit_to_dict(hit) for hit in answer.memory.hits]
                body = append_member(body, "memory_hits", hits)
        response = Response(body, answer.response.status_code)
        response.raw_headers = [*headers, (b"content-length", str(len(body)).encode())]
        return response


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """Answer of an upstream that is no stream, with what goes with it."""

    response: httpx2.Response
    body: bytes
    memory: RequestMemoryContext
    note: dict[str, str]
    """Headers that tell what became of memory."""


async def run_beside(size: int, work: Callable[[], T]) -> T:
    """Run work on a body, in a thread where it is large."""
    return await asyncio.to_thread(work) if size > _LARGE_BYTES else work()


async def read_body(request: Request) -> bytes | None:
    """Read the whole body; None where it is over the limit."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES:
            return None
        pieces.append(chunk)
    return b"".join(pieces)


def hit_to_dict(hit: Hit) -> dict[str, Json]:
    """Convert a hit for an answer's ``memory_hits``."""
    record = hit.record
    return {
        "id": record.id,
        "kind": record.kind.value,
        "role": record.role_shown or MEMORY_ROLE,
        "content": record.text,
        "score": round(hit.score, 4),
        "created_at": record.recorded_at.isoformat(),
    }


def _with_note(headers: RawHeaders, note: dict[str, str]) -> RawHeaders:
    return [*headers, *((name.encode(), value.encode()) for name, value in note.items())]


def _is_stream(answer: httpx2.Response, chat_request: ParsedProxyRequest) -> bool:
    """Detect a stream by the answer: servers may ignore `stream`."""
    kind = answer.headers.get("content-type", "")
    if chat_request.dialect.is_json_lines:
        is_plain_json = kind.partition(";")[0] == "application/json"
        return "ndjson" in kind or (chat_request.wants_stream and not is_plain_json)
    return "text/event-stream" in kind or (chat_request.wants_stream and "json" not in kind)


def parse_json(body: bytes) -> Json:
    """Parse JSON; None: it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
