"""Parse JSON piece by piece, one list element at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from engrams.core import Json
from engrams.transfer.formats.decode import CHUNK, LIMIT
from engrams.transfer.formats.parsed_items import UnreadablePiece

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r\0]*")
_MARK = re.compile(r'["\\\[\]{},]')
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_SLACK = 16


class MalformedJsonError(ValueError):
    """Malformed JSON; ``incomplete`` if more text might complete it."""

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        super().__init__(message)
        self.incomplete = incomplete


def parse(text: str) -> Json:
    """Parse one JSON value. MalformedJsonError: it is anything else."""
    value, end = _decode(text, _skip_space(text, 0))
    if _skip_space(text, end) != len(text):
        raise MalformedJsonError("not JSON: text after its end")
    return value


def read_elements(
    pieces: Iterable[str], key: str = ""
) -> Iterator[tuple[int, Json] | UnreadablePiece]:
    """Yield numbered elements of the JSON values in a text.

    A list gives its elements. An object gives the elements of its list ``key``, one by one,
    followed by what else it holds under other keys; an object without such a list gives itself.
    """
    reader = _JsonStreamReader(pieces)
    while (char := reader.peek()) and not reader.broken:
        if char == "[":
            yield from reader.read_list()
        elif char == "{" and key:
            yield from reader.read_members(key)
        else:
            yield from reader.read_single()
            reader.broken = reader.broken or reader.stuck


def _decode(text: str, at: int) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise MalformedJsonError("nested too deeply") from None
    except json.JSONDecodeError as problem:
        cut = problem.msg.startswith("Unterminated") or problem.pos >= len(text) - _SLACK
        raise MalformedJsonError(f"not JSON: {problem.msg}", incomplete=cut) from None
    except ValueError:
        raise MalformedJsonError("holds a number with too many digits") from None


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _JsonStreamReader:
    """Track a position in a text that is still being read."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text = ""
        self._at = 0
        self._line = 1
        self.broken = False
        self.stuck = False

    def peek(self) -> str:
        """Return the next non-space character; empty at the end."""
        while True:
            self._move_to(_skip_space(self._text, self._at))
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more(1):
                return ""

    def read_list(self) -> Iterator[tuple[int, Json] | UnreadablePiece]:
        """Yield the elements of the list that begins here."""
        self._move_to(self._at + 1)
        while (char := self.peek()) != "]":
            if not char:
                yield self._end_broken("The list ends in the middle.")
                return
            yield from self.read_single()
            if self.broken:
                return
            after = self.peek()
            if after == ",":
                self._move_to(self._at + 1)
            elif after != "]":
                yield self._end_broken(
                    "A comma or the end of the list was expected."
                    if after
                    else "The list ends in the middle."
                )
                return
        self._move_to(self._at + 1)

    def read_members(self, key: str) -> Iterator[tuple[int, Json] | UnreadablePiece]:
        """Yield the elements of an object; see ``read_elements``."""
        line = self._line
        rest = {}
        found = False
        self._move_to(self._at + 1)
        while (char := self.peek()) == '"':
            try:
                name = self._read_value()
                if self.peek() != ":":
                    raise MalformedJsonError("a colon was expected")
                self._move_to(self._at + 1)
                if self.peek() == "[" and name == key:
                    found = True
                    yield from self.read_list()
                    if self.broken:
                        return
                else:
                    rest[name] = self._read_value()
            except MalformedJsonError as problem:
                yield self._end_broken(f"The object is {problem}.")
                return
            if self.peek() == ",":
                self._move_to(self._at + 1)
        if char != "}":
            yield self._end_broken("The object ends in the middle.")
            return
        self._move_to(self._at + 1)
        if rest or not found:
            yield line, rest

    def read_single(self) -> Iterator[tuple[int, Json] | UnreadablePiece]:
        """Yield the single value that begins here."""
        line = self._line
        self.stuck = False
        try:
            yield line, self._read_value()
        except MalformedJsonError as problem:
            yield UnreadablePiece(line, f"This piece is {problem}.", broken=True)
            self.stuck = True
            self.broken = not self._skip_value()

    def _read_value(self) -> Json:
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                if end < len(self._text) or self._text[end - 1] in '"]}' or not self._read_more(1):
                    self._move_to(end)
                    return value
            except MalformedJsonError as problem:
                size = len(self._text) - self._at
                if not problem.incomplete:
                    raise
                if size > LIMIT:
                    raise MalformedJsonError(f"longer than {LIMIT:,} characters") from None
                if not self._read_more(max(CHUNK, size)):
                    raise

    def _skip_value(self) -> bool:
        """Skip a malformed value; False at the end of the text."""
        depth = 0
        quoted = False
        while True:
            mark = _MARK.search(self._text, self._at)
            if not mark:
                self._move_to(len(self._text))
                if not self._read_more(1):
                    return False
                continue
            char = mark[0]
            self._move_to(mark.start())
            if char == "\\":
                if self._at + 1 == len(self._text) and not self._read_more(1):
                    return False
                self._move_to(self._at + 2)
                continue
            if char == '"':
                quoted = not quoted
            elif not quoted:
                if depth == 0 and char in ",]}":
                    return char != "}"
                depth += _STEP.get(char, 0)
            self._move_to(self._at + 1)

    def _end_broken(self, message: str) -> UnreadablePiece:
        self.broken = True
        return UnreadablePiece(self._line, message, broken=True)

    def _move_to(self, to: int) -> None:
        self._line += self._text.count("\n", self._at, to)
        self._at = to

    def _read_more(self, size: int) -> bool:
        """Read at least ``size`` more characters; drop those already parsed."""
        parts = [self._text[self._at :]]
        got = 0
        for piece in self._pieces:
            parts.append(piece)
            got += len(piece)
            if got >= size:
                break
        self._text = "".join(parts)
        self._at = 0
        return got > 0
