"""A request that carries a conversation goes up with memory in it, its answer comes down as it is, both are kept."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx2
from starlette.requests import Request
from starlette.responses import Response

from engrams.settings import Settings
from engrams.surfaces.proxy.body import extend
from engrams.surfaces.proxy.dialect import Dialect
from engrams.surfaces.proxy.errors import NOTE, failure
from engrams.surfaces.proxy.memory import Memory, Recall
from engrams.surfaces.proxy.relay import Relay, Witness, departure, stop, unless
from engrams.surfaces.proxy.request import Asked, understand
from engrams.surfaces.proxy.threads import Threads
from engrams.surfaces.proxy.upstream import RawHeaders, Upstream, Upstreams, down, unrouted
from engrams.types import Hit, Json

BODY_BYTES = 256_000_000
CLOSED = 499
"""The status of an answer that nobody waits for."""

_REFUSED = (400, 413, 422)

_log = logging.getLogger("engrams.proxy")


class Chat:
    """The endpoint of one dialect before its upstreams."""

    def __init__(self, upstreams: Upstreams, recall: Recall, settings: Settings, dialect: Dialect) -> None:
        self._upstreams, self._recall, self._settings, self._dialect = upstreams, recall, settings, dialect
        self._threads = Threads()

    async def __call__(self, request: Request) -> Response:
        raw = await body_of(request)
        if raw is None:
            return failure(413, f"The request is larger than {BODY_BYTES:,} bytes. Send less of the history.", "request_too_large")
        asked = understand(request.headers, raw, self._settings, self._dialect, self._threads)
        upstream = self._upstreams.of(asked.model)
        if upstream is None:
            return unrouted(asked.model)
        memory = await self._recall.look(asked)
        gone = asyncio.create_task(departure(request.receive))
        response = await unless(gone, lambda: self._answer(request, asked, memory, upstream, gone))
        if not isinstance(response, Relay):
            await stop(gone)
        return response or Response(status_code=CLOSED)

    async def _answer(self, request: Request, asked: Asked, memory: Memory, upstream: Upstream, gone: asyncio.Task[None]) -> Response:
        note = {NOTE: memory.note}
        try:
            answer = await self._send(request, asked, upstream, memory.text)
            if answer.status_code in _REFUSED and memory.text:
                await answer.aclose()
                _log.warning("the upstream refused a request with memory in it (%d); it is sent again without", answer.status_code)
                memory = Memory("", (), "skipped:refused")
                note = {NOTE: memory.note}
                answer = await self._send(request, asked, upstream)
            if answer.status_code != 200 or asked.caller is None:
                return Relay(answer, _noted(down(answer, decoded=False), note), gone=gone)
            if _is_stream(answer, asked):
                witness = Witness(self._recall, asked, self._settings.limits.text_bytes // 4)
                return Relay(answer, _noted(down(answer, decoded=True), note), witness, gone)
            body = await answer.aread()
        except httpx2.HTTPError as fault:
            return upstream.unreachable(fault, note)
        return await self._whole(answer, body, asked, memory)

    async def _send(self, request: Request, asked: Asked, upstream: Upstream, memory: str = "") -> httpx2.Response:
        body = asked.body(memory)
        headers = upstream.headers(request.headers.raw, b"content-length", b"accept-encoding")
        # Plain bytes: a compressed stream would have to be unpacked here before it could be read along.
        headers += [(b"content-length", str(len(body)).encode()), (b"accept-encoding", b"identity")]
        url = upstream.target(self._dialect.path.encode(), request.scope["query_string"])
        return await upstream.send("POST", url, headers, body)

    async def _whole(self, answer: httpx2.Response, body: bytes, asked: Asked, memory: Memory) -> Response:
        """An answer in one piece: what was said is kept, and where it is one of OpenAI's it names the memories used."""
        headers = _noted(down(answer, decoded=True), {NOTE: memory.note})
        parsed = _parsed(body)
        text = self._dialect.answer(parsed)
        if text is not None and asked.caller is not None:
            asked.answered(str(parsed.get("id") or ""))
            turns = [asked.said] if asked.said else []
            turns += [asked.reply(text)] if text.strip() else []
            if turns:
                await self._recall.settle(self._recall.keep(turns, asked.caller.scope))
            if asked.skip != "top_k" and self._dialect.hits:
                body = extend(body, "memory_hits", [hit_of(hit) for hit in memory.hits])
        response = Response(body, answer.status_code)
        response.raw_headers = [*headers, (b"content-length", str(len(body)).encode())]
        return response


async def body_of(request: Request) -> bytes | None:
    """The whole body; None where it is over the limit."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES:
            return None
        pieces.append(chunk)
    return b"".join(pieces)


def hit_of(hit: Hit) -> dict[str, Json]:
    """A memory in an answer's ``memory_hits``."""
    record = hit.record
    return {
        "id": record.id,
        "kind": record.kind.value,
        "role": record.role or "memory",
        "content": record.text,
        "score": round(hit.score, 4),
        "created_at": record.recorded_at.isoformat(),
    }


def _noted(headers: RawHeaders, note: dict[str, str]) -> RawHeaders:
    return [*headers, *((name.encode(), value.encode()) for name, value in note.items())]


def _is_stream(answer: httpx2.Response, asked: Asked) -> bool:
    """The answer decides, not the request: some servers stream unasked, some do not stream when asked."""
    kind = answer.headers.get("content-type", "")
    if asked.dialect.lines:
        return "ndjson" in kind or (asked.streams and kind.partition(";")[0] != "application/json")
    return "text/event-stream" in kind or (asked.streams and "json" not in kind)


def _parsed(body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
