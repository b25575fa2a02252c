"""Relay an upstream's answer unbuffered, and observe its stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from typing import Any

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engrams.core import is_blank
from engrams.surfaces.proxy.api_errors import is_error_text
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.upstream_servers import RawHeaders

CLOSED = 499
"""Status of an answer that nobody waits for."""


_LINE_BYTES = 16_000_000


class RelayResponse(Response):
    """Send the upstream's status, headers and bytes on as they come.

    With ``observer`` the body is a chat stream: it is read along, and a connection that breaks
    becomes an error event. Without one the bytes are passed raw and a break is passed on as a
    break. ``gone`` resolves when the client has left.
    """

    def __init__(
        self,
        answer: httpx2.Response,
        headers: RawHeaders,
        gone: asyncio.Task[None],
        observer: StreamedAnswerRecorder | None = None,
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = headers
        self._answer = answer
        self._observer = observer
        self._gone = gone
        self._held = ExitStack()

    def release_after(self, held: ExitStack) -> None:
        """Close ``held`` once the answer has ended."""
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the signature of ASGI
        pump = asyncio.create_task(self._pump(send))
        try:
            await asyncio.wait({pump, self._gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_task(pump)
            await cancel_task(self._gone)
            if self._observer is not None:
                self._observer.store_answer()
            await self._answer.aclose()
            self._held.close()
        if not pump.cancelled():
            pump.result()

    async def _pump(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        whole = await (
            self._send_raw(send)
            if self._observer is None
            else self._send_observed(send, self._observer)
        )
        if whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_raw(self, send: Send) -> bool:
        try:
            async for chunk in self._answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx2.HTTPError:
            return False
        return True

    async def _send_observed(self, send: Send, observer: StreamedAnswerRecorder) -> bool:
        try:
            async for chunk in self._answer.aiter_bytes():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                observer.feed(chunk)
        except httpx2.HTTPError as fault:
            broken = observer.format_break(
                f"The upstream broke off ({type(fault).__name__}). Try again."
            )
            await send({"type": "http.response.body", "body": broken, "more_body": True})
        await observer.finish()
        return True


async def wait_disconnect(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def cancel_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    await asyncio.wait({task})


async def run_call(
    leaving: Coroutine[Any, Any, None], work: Callable[[asyncio.Task[None]], Awaitable[Response]]
) -> Response:
    """Run ``work`` unless the client leaves first; then answer 499.

    ``leaving`` ends when the client has left; ``work`` gets its task, which a `RelayResponse` takes
    over.
    """
    gone = asyncio.create_task(leaving)
    task = asyncio.ensure_future(work(gone))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        response = task.result() if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if not isinstance(response, RelayResponse):
        await cancel_task(gone)
    return response or Response(status_code=CLOSED)


class StreamedAnswerRecorder:
    """Collect the text of a streamed answer and store it.

    ``said``: stores the user's turn, which comes first; the answer's is stored after the last
    chunk. At most ``limit`` characters are collected, however the bytes are cut. ``finished``: the
    model said that it is done. ``failed``: an error came down the stream. ``id``: that of the
    answer.
    """

    def __init__(
        self,
        memory: TimeLimitedEngine,
        chat_request: ParsedProxyRequest,
        limit: int,
        said: asyncio.Task[bool] | None = None,
    ) -> None:
        assert chat_request.caller is not None
        self.finished = False
        self.failed = False
        self._memory = memory
        self._request = chat_request
        self._scope = chat_request.caller.scope
        self._dialect = chat_request.dialect
        self._limit = limit
        self.id = ""
        self._size = 0
        self._pieces: list[str] = []
        self._rest = b""
        self._question = said
        self._answer: asyncio.Task[bool] | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def is_cut(self) -> bool:
        return self._size > self._limit

    def feed(self, chunk: bytes) -> None:
        """Read a chunk; it may end anywhere."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest if len(rest) <= _LINE_BYTES else b":"
        for line in lines:
            if self._dialect.lines:
                self._read(line.strip())
            elif line.startswith(b"data:"):
                self._read(line[5:].strip())

    def format_break(self, text: str) -> bytes:
        """Format the error event for a stream that broke off."""
        return (b"\n\n" if self._rest else b"") + self._dialect.format_break(text)

    def store_answer(self) -> asyncio.Task[bool] | None:
        """Store the answer once, partial where it broke off.

        None: it has no text.
        """
        self._request.note_answer(self.id)
        if self._answer is None and not is_blank(self.text) and not is_error_text(self.text):
            whole = self.finished and not self.failed and not self.is_cut
            turn = self._request.answer_turn(self.text, partial=not whole)
            self._answer = self._memory.store([turn], self._scope, self._question)
        return self._answer

    async def finish(self) -> None:
        """Store the answer and wait until it is stored."""
        task = self.store_answer()
        await self._memory.note_answer(self._request, self.id)
        await self._memory.wait_stored(task)

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.finished = True
            return
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(body, dict):
            return
        piece = self._dialect.parse_piece(body)
        self.finished = self.finished or piece.finished
        self.failed = self.failed or piece.failed
        self.id = piece.id or self.id
        if piece.text and self._size <= self._limit:
            self._pieces.append(piece.text[: self._limit - self._size])
        self._size += len(piece.text)
