"""Reading along a stream of server-sent events that is being relayed."""

from __future__ import annotations

import json

from engrams.surfaces.proxy.envelope import text_of
from engrams.types import Json

_LINE_BYTES = 16_000_000


class Tee:
    """Collects the text of the first choice from chat chunks, however the bytes are cut. At most ``limit`` characters.

    ``finished``: the model said that it is done. ``failed``: an error came down the stream.
    """

    def __init__(self, limit: int) -> None:
        self.finished = False
        self.failed = False
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
            if line.startswith(b"data:"):
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
        self.failed = self.failed or bool(body.get("error"))
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._choice(choice)

    def _choice(self, choice: dict[str, Json]) -> None:
        delta = choice.get("delta")
        text = text_of(delta.get("content")) if isinstance(delta, dict) else ""
        if text and self._size <= self._limit:
            self._pieces.append(text[: self._limit - self._size])
        self._size += len(text)
        self.finished = self.finished or bool(choice.get("finish_reason"))


def answer_of(body: Json) -> str | None:
    """The text of the first choice of a whole chat completion; None: it is not one."""
    choices = body.get("choices") if isinstance(body, dict) and not body.get("error") else None
    if not isinstance(choices, list):
        return None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    return text_of(message.get("content")) if isinstance(message, dict) else ""
