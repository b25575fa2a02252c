"""Read a relayed stream along and store what it says."""

from __future__ import annotations

import asyncio
import json

from engrams.surfaces.proxy.memory import DeadlineMemory
from engrams.surfaces.proxy.request import ProxyRequest

_LINE_BYTES = 16_000_000


class StreamObserver:
    """Collect the text of a streamed answer and store both turns.

    The user's turn is stored before the first chunk, the answer's after the last. At most ``limit`` characters are collected,
    however the bytes are cut. ``finished``: the model said that it is done. ``failed``: an error came down the stream.
    ``id``: that of the answer.
    """

    def __init__(self, memory: DeadlineMemory, chat_request: ProxyRequest, limit: int) -> None:
        assert chat_request.caller is not None
        self.finished = False
        self.failed = False
        self._memory, self._request, self._scope = memory, chat_request, chat_request.caller.scope
        self._dialect, self._limit = chat_request.dialect, limit
        self.id = ""
        self._size = 0
        self._pieces: list[str] = []
        self._rest = b""
        self._question = memory.store([chat_request.question], self._scope) if chat_request.question else None
        self._answer: asyncio.Task[bool] | None = None
        self._waited = False

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
        """Format the error of a broken stream, on its own line."""
        return (b"\n\n" if self._rest else b"") + self._dialect.format_break(text)

    async def wait_question(self) -> None:
        """Wait before the first chunk until the user's turn is stored."""
        if self._question is not None and not self._waited:
            self._waited = True
            await self._memory.wait_stored(self._question)

    def store_answer(self) -> asyncio.Task[bool] | None:
        """Store the answer once, partial where it broke off.

        None: it has no text.
        """
        self._request.note_answer(self.id)
        if self._answer is None and self.text.strip():
            whole = self.finished and not self.failed and not self.is_cut
            turn = self._request.answer_turn(self.text, partial=not whole)
            self._answer = self._memory.store([turn], self._scope, self._question)
        return self._answer

    async def finish(self) -> None:
        """Store the answer and wait until it is stored."""
        task = self.store_answer()
        if task is not None:
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
        self.finished, self.failed, self.id = self.finished or piece.finished, self.failed or piece.failed, piece.id or self.id
        if piece.text and self._size <= self._limit:
            self._pieces.append(piece.text[: self._limit - self._size])
        self._size += len(piece.text)
