"""Relay an upstream's answer unbuffered, and read a chat stream along to store it."""

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
_MAX_LINE_BYTES = 16_000_000
"""Length of a line of a stream that is read along; a longer one is passed on unread."""


class RelayResponse(Response):
    """Send the upstream's status, headers and bytes on as they come.

    With ``recorder`` the body is a chat stream: it is read along, and a connection that breaks
    becomes an error event. Without one the bytes are passed raw and a break is passed on as a
    break. ``departure`` ends when the client has left.
    """

    def __init__(
        self,
        answer: httpx2.Response,
        headers: RawHeaders,
        departure: asyncio.Task[None],
        recorder: StreamedAnswerRecorder | None = None,
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = headers
        self._answer = answer
        self._recorder = recorder
        self._departure = departure
        self._resources = ExitStack()

    def release_after(self, resources: ExitStack) -> None:
        """Close ``resources`` once the answer has ended."""
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the signature of ASGI
        pump = asyncio.create_task(self._pump(send))
        try:
            await asyncio.wait({pump, self._departure}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_task(pump)
            await cancel_task(self._departure)
            if self._recorder is not None:
                self._recorder.store_answer()
            await self._answer.aclose()
            self._resources.close()
        if not pump.cancelled():
            pump.result()

    async def _pump(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        if self._recorder is None:
            is_complete = await self._send_raw(send)
        else:
            is_complete = await self._send_recorded(send, self._recorder)
        if is_complete:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_raw(self, send: Send) -> bool:
        """Pass the bytes on; False: the upstream broke off."""
        try:
            async for chunk in self._answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx2.HTTPError:
            return False
        return True

    async def _send_recorded(self, send: Send, recorder: StreamedAnswerRecorder) -> bool:
        """Pass a chat stream on and read it along; it always gets an end."""
        try:
            async for chunk in self._answer.aiter_bytes():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                recorder.feed(chunk)
        except httpx2.HTTPError as error:
            event = recorder.format_break(
                f"The upstream broke off ({type(error).__name__}). Try again."
            )
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await recorder.finish()
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
    departure = asyncio.create_task(leaving)
    task = asyncio.ensure_future(work(departure))
    try:
        await asyncio.wait({task, departure}, return_when=asyncio.FIRST_COMPLETED)
        response = task.result() if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if not isinstance(response, RelayResponse):
        await cancel_task(departure)
    return response or Response(status_code=CLOSED)


class StreamedAnswerRecorder:
    """Collect the text of a streamed answer and store it.

    ``storing_question``: stores the user's turn, which comes first; the answer's is stored after
    the last chunk. At most ``max_chars`` characters are collected, however the bytes are cut.
    """

    def __init__(
        self,
        memory: TimeLimitedEngine,
        chat_request: ParsedProxyRequest,
        max_chars: int,
        storing_question: asyncio.Task[bool] | None = None,
    ) -> None:
        assert chat_request.caller is not None
        self.finished = False
        """True where the model said that its answer ends."""
        self.failed = False
        """True where an error came down the stream."""
        self.id = ""
        """Id of the answer, where the stream has one."""
        self._memory = memory
        self._request = chat_request
        self._dialect = chat_request.dialect
        self._max_chars = max_chars
        self._size = 0
        """Characters so far, also those that were not collected."""
        self._pieces: list[str] = []
        self._unfinished_line = b""
        self._storing_question = storing_question
        self._storing_answer: asyncio.Task[bool] | None = None

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    @property
    def is_cut(self) -> bool:
        """Return True if the answer is longer than the text that was collected."""
        return self._size > self._max_chars

    def feed(self, chunk: bytes) -> None:
        """Read a chunk; it may end anywhere."""
        *lines, unfinished = (self._unfinished_line + chunk).split(b"\n")
        # A line that begins with a colon is a comment: nobody reads it.
        self._unfinished_line = unfinished if len(unfinished) <= _MAX_LINE_BYTES else b":"
        for line in lines:
            if self._dialect.is_json_lines:
                self._read(line.strip())
            elif line.startswith(b"data:"):
                self._read(line[5:].strip())

    def format_break(self, text: str) -> bytes:
        """Format the error event for a stream that broke off."""
        return (b"\n\n" if self._unfinished_line else b"") + self._dialect.format_break(text)

    def store_answer(self) -> asyncio.Task[bool] | None:
        """Store the answer once, partial where it broke off.

        None: it has no text.
        """
        self._request.note_answer(self.id)
        has_text = not is_blank(self.text) and not is_error_text(self.text)
        if self._storing_answer is None and has_text:
            is_whole = self.finished and not self.failed and not self.is_cut
            turn = self._request.answer_turn(self.text, partial=not is_whole)
            self._storing_answer = self._memory.store_answer(
                self._request, turn, self._storing_question
            )
        return self._storing_answer

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
        if piece.text and self._size <= self._max_chars:
            self._pieces.append(piece.text[: self._max_chars - self._size])
        self._size += len(piece.text)
