"""An upstream answer on its way to the client: unbuffered, watched, and stopped when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engrams.surfaces.proxy.memory import Recall
from engrams.surfaces.proxy.request import Asked
from engrams.surfaces.proxy.tee import Tee
from engrams.surfaces.proxy.upstream import RawHeaders


class Witness:
    """Keeps what a stream says: the user's turn before the first chunk, the answer's after the last."""

    def __init__(self, recall: Recall, asked: Asked, limit: int) -> None:
        assert asked.caller is not None
        self.tee = Tee(limit, asked.dialect)
        self.broken = asked.dialect.broken
        self._recall, self._asked, self._scope = recall, asked, asked.caller.scope
        self._user = recall.keep([asked.said], self._scope) if asked.said else None
        self._answer: asyncio.Task[bool] | None = None
        self._waited = False

    async def ready(self) -> None:
        """Before the first chunk; the later ones do not wait again."""
        if self._user is not None and not self._waited:
            self._waited = True
            await self._recall.settle(self._user)

    def done(self) -> asyncio.Task[bool] | None:
        """Keep the answer, once; None: it has no text. It is partial where the model did not get to its end."""
        self._asked.answered(self.tee.id)
        if self._answer is None and self.tee.text.strip():
            whole = self.tee.finished and not self.tee.failed and not self.tee.cut
            turn = self._asked.reply(self.tee.text, partial=not whole)
            self._answer = self._recall.keep([turn], self._scope, self._user)
        return self._answer

    async def finish(self) -> None:
        """Keep the answer and wait until it is kept."""
        task = self.done()
        if task is not None:
            await self._recall.settle(task)


class Relay(Response):
    """Sends the upstream's status, headers and bytes on as they come.

    With ``witness`` the body is a chat stream: it is read along, and a connection that breaks becomes an error event.
    Without one the bytes are passed raw and a break is passed on as a break. ``gone`` resolves when the client has left.
    """

    def __init__(
        self, answer: httpx2.Response, headers: RawHeaders, witness: Witness | None = None, gone: asyncio.Task[None] | None = None
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = headers
        self._answer, self._witness, self._gone = answer, witness, gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI calls it so
        gone = self._gone or asyncio.create_task(departure(receive))
        pump = asyncio.create_task(self._pump(send))
        try:
            await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(pump)
            await stop(gone)
            if self._witness is not None:
                self._witness.done()
            await self._answer.aclose()
        if not pump.cancelled():
            pump.result()

    async def _pump(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        whole = await (self._raw(send) if self._witness is None else self._watched(send, self._witness))
        if whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _raw(self, send: Send) -> bool:
        try:
            async for chunk in self._answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx2.HTTPError:
            return False
        return True

    async def _watched(self, send: Send, witness: Witness) -> bool:
        try:
            async for chunk in self._answer.aiter_bytes():
                await witness.ready()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                witness.tee.feed(chunk)
        except httpx2.HTTPError as fault:
            text = f"The upstream broke off ({type(fault).__name__}). Try again."
            line = (b"\n\n" if witness.tee.midline else b"") + witness.broken(text)
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await witness.finish()
        return True


async def departure(receive: Receive) -> None:
    """Returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def stop(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it is over."""
    task.cancel()
    await asyncio.wait({task})


async def unless(gone: asyncio.Task[None], work: Callable[[], Awaitable[Response]]) -> Response | None:
    """The result of ``work``; None, with the work cancelled, where the client leaves first."""
    task = asyncio.ensure_future(work())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
