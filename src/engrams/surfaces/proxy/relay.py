"""Relay an upstream's answer unbuffered, and stop when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engrams.surfaces.proxy.observer import StreamObserver
from engrams.surfaces.proxy.upstream import RawHeaders

CLOSED = 499
"""Status of an answer that nobody waits for."""


class RelayResponse(Response):
    """Send the upstream's status, headers and bytes on as they come.

    With ``observer`` the body is a chat stream: it is read along, and a connection that breaks becomes an error event.
    Without one the bytes are passed raw and a break is passed on as a break. ``gone`` resolves when the client has left.
    """

    def __init__(
        self, answer: httpx2.Response, headers: RawHeaders, gone: asyncio.Task[None], observer: StreamObserver | None = None
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = headers
        self._answer, self._observer, self._gone = answer, observer, gone

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
        if not pump.cancelled():
            pump.result()

    async def _pump(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        whole = await (self._send_raw(send) if self._observer is None else self._send_observed(send, self._observer))
        if whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_raw(self, send: Send) -> bool:
        try:
            async for chunk in self._answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx2.HTTPError:
            return False
        return True

    async def _send_observed(self, send: Send, observer: StreamObserver) -> bool:
        try:
            async for chunk in self._answer.aiter_bytes():
                await observer.wait_question()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                observer.feed(chunk)
        except httpx2.HTTPError as fault:
            broken = observer.format_break(f"The upstream broke off ({type(fault).__name__}). Try again.")
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


async def run_call(leaving: Coroutine[Any, Any, None], work: Callable[[asyncio.Task[None]], Awaitable[Response]]) -> Response:
    """Run ``work`` unless the client leaves first; then answer 499.

    ``leaving`` ends when the client has left; ``work`` gets its task, which a `RelayResponse` takes over.
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
