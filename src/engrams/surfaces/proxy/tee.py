"""Reading along a stream that is being relayed."""

from __future__ import annotations

import json

from engrams.surfaces.proxy.dialect import CHAT, Dialect

_LINE_BYTES = 16_000_000


class Tee:
    """Collects the text of the answer, however the bytes are cut. At most ``limit`` characters.

    ``finished``: the model said that it is done. ``failed``: an error came down the stream. ``id``: the answer's own.
    """

    def __init__(self, limit: int, dialect: Dialect = CHAT) -> None:
        self.finished = False
        self.failed = False
        self.id = ""
        self._dialect = dialect
        self._limit = limit
        self._size = 0
        self._pieces: list[str] = []
        self._rest = b""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def cut(self) -> bool:
        """Whether there was more text than the limit."""
        return self._size > self._limit

    @property
    def midline(self) -> bool:
        """Whether the bytes so far end inside a line."""
        return bool(self._rest)

    def feed(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest if len(rest) <= _LINE_BYTES else b":"
        for line in lines:
            if self._dialect.lines:
                self._data(line.strip())
            elif line.startswith(b"data:"):
                self._data(line[5:].strip())

    def _data(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.finished = True
            return
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(body, dict):
            return
        piece = self._dialect.piece(body)
        self.finished, self.failed, self.id = self.finished or piece.finished, self.failed or piece.failed, piece.id or self.id
        if piece.text and self._size <= self._limit:
            self._pieces.append(piece.text[: self._limit - self._size])
        self._size += len(piece.text)
