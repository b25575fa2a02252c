"""Parse JSON as it is read, one list element at a time.

``read_elements`` is the entry: it never holds more of a file than one element (and the chunk that
it was read with), so a list may have any length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.transfer.formats.decode import CHUNK, LIMIT
from engrams.transfer.formats.pieces import JsonElement, UnreadablePiece

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r\0]*")
_MARK = re.compile(r'["\\\[\]{},]')
_DEPTH_CHANGE = {"[": 1, "{": 1, "]": -1, "}": -1}
_END_CHARS = 16
"""An error this near to the end of the text may come from its being cut."""


@dataclass(frozen=True, slots=True)
class StreamedMember:
    """Value inside an object that is read member by member."""

    line: int
    path: str
    """Names of the members that lead to it, with dots; elements of a list add no name."""
    value: Json = None
    """None for an object that is read member by member itself; its members follow."""


MemberPiece: TypeAlias = StreamedMember | UnreadablePiece
_Element = TypeVar("_Element")


class MalformedJsonError(ValueError):
    """Text that is no JSON."""

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        """Set the message; ``incomplete``: more text might complete the JSON."""
        super().__init__(message)
        self.incomplete = incomplete


def parse(text: str) -> Json:
    """Parse one JSON value. MalformedJsonError: it is anything else."""
    value, end = _decode(text, _skip_space(text, 0))
    if _skip_space(text, end) != len(text):
        raise MalformedJsonError("not JSON: text after its end")
    return value


def read_elements(chunks: Iterable[str], key: str = "") -> Iterator[JsonElement]:
    """Yield the elements of the JSON values in a text, each with its line.

    ``chunks``: the text in parts of any size. A list gives its elements. An object gives the
    elements of its list ``key``, one by one, followed by an object of its other keys; an object
    without such a list gives itself.
    """
    reader = _JsonStreamReader(chunks)
    while (char := reader.peek()) and not reader.is_broken:
        if char == "[":
            yield from reader.read_list()
        elif char == "{" and key:
            yield from reader.read_members(key)
        else:
            yield from reader.read_single()
            # In a list the next element may be sound; here nothing tells where the next value begins.
            reader.is_broken = reader.is_broken or reader.is_malformed


def read_members(chunks: Iterable[str], *list_paths: str) -> Iterator[MemberPiece]:
    """Yield the members of the objects in a text, in their order.

    ``list_paths``: lists that are yielded element by element, such as ``messages`` or
    ``chats.list.messages``. The objects on the way to them are read member by member; each other
    value is yielded whole.
    """
    reader = _JsonStreamReader(chunks)
    while reader.peek() and not reader.is_broken:
        yield from reader.walk(_MemberPaths(list_paths))
        reader.is_broken = reader.is_broken or reader.is_malformed


def _decode(text: str, position: int) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except RecursionError:
        raise MalformedJsonError("nested too deeply") from None
    except json.JSONDecodeError as problem:
        is_cut = problem.msg.startswith("Unterminated") or problem.pos >= len(text) - _END_CHARS
        raise MalformedJsonError(f"not JSON: {problem.msg}", incomplete=is_cut) from None
    except ValueError:
        raise MalformedJsonError("contains a number with too many digits") from None


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _MemberPaths:
    """Paths of the lists that are read element by element."""

    def __init__(self, list_paths: tuple[str, ...]) -> None:
        self._lists = frozenset(list_paths)
        names = [path.split(".") for path in list_paths]
        self._on_the_way = {
            ".".join(path[:length]) for path in names for length in range(len(path))
        }

    def is_list(self, path: str) -> bool:
        """Check for a list that is read element by element."""
        return path in self._lists or self.leads_on(path)

    def leads_on(self, path: str) -> bool:
        """Check that such a list stands further inside."""
        return path in self._on_the_way


class _JsonStreamReader:
    """Position in a text that is still being read."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._text = ""
        """Part of the text that is in memory."""
        self._position = 0
        """Position in ``_text``; everything before it is parsed."""
        self._line = 1
        """Line of the file at the position."""
        self.is_broken = False
        """Nothing behind the position can be read."""
        self.is_malformed = False
        """The value read last was malformed, and skipped."""

    def peek(self) -> str:
        """Return the next non-space character; empty at the end."""
        while True:
            self._move_to(_skip_space(self._text, self._position))
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more(1):
                return ""

    def walk(self, paths: _MemberPaths, path: str = "") -> Iterator[MemberPiece]:
        """Yield the members of the value that begins here; see ``read_members``."""

        def read_element() -> Iterator[MemberPiece]:
            if self.peek() == "{" and paths.leads_on(path):
                yield StreamedMember(self._line, path)
                yield from self._walk_object(paths, path)
            else:
                for element in self.read_single():
                    if isinstance(element, UnreadablePiece):
                        yield element
                    else:
                        line, value = element
                        yield StreamedMember(line, path, value)

        if self.peek() == "[" and paths.is_list(path):
            yield from self._read_list(read_element)
        else:
            yield from read_element()

    def read_list(self) -> Iterator[JsonElement]:
        """Yield the elements of the list that begins here."""
        return self._read_list(self.read_single)

    def _read_list(
        self, read_element: Callable[[], Iterator[_Element]]
    ) -> Iterator[_Element | UnreadablePiece]:
        self._move_to(self._position + 1)
        while (char := self.peek()) != "]":
            if not char:
                yield self._end_broken("The list ends in the middle.")
                return
            yield from read_element()
            if self.is_broken:
                return
            next_char = self.peek()
            if next_char == ",":
                self._move_to(self._position + 1)
            elif not next_char:
                yield self._end_broken("The list ends in the middle.")
                return
            elif next_char != "]":
                yield self._end_broken("A comma or the end of the list was expected.")
                return
        self._move_to(self._position + 1)

    def read_members(self, key: str) -> Iterator[JsonElement]:
        """Yield the elements of an object; see ``read_elements``."""
        line = self._line
        other_members = {}
        has_list = False
        try:
            for name in self._iter_names():
                if self.peek() == "[" and name == key:
                    has_list = True
                    yield from self.read_list()
                    if self.is_broken:
                        return
                else:
                    other_members[name] = self._read_value()
        except MalformedJsonError as problem:
            yield self._end_broken(f"The object is {problem}.")
            return
        if other_members or not has_list:
            yield line, other_members

    def _walk_object(self, paths: _MemberPaths, path: str) -> Iterator[MemberPiece]:
        try:
            for name in self._iter_names():
                yield from self.walk(paths, f"{path}.{name}" if path else name)
                if self.is_broken:
                    return
        except MalformedJsonError as problem:
            yield self._end_broken(f"The object is {problem}.")

    def _iter_names(self) -> Iterator[str]:
        """Yield the names of the object that begins here; the caller reads the value of each.

        MalformedJsonError: it is no object, or ends too early.
        """
        self._move_to(self._position + 1)
        while (char := self.peek()) == '"':
            name = self._read_value()
            if self.peek() != ":":
                raise MalformedJsonError("not JSON: a colon was expected")
            self._move_to(self._position + 1)
            yield name
            if self.peek() == ",":
                self._move_to(self._position + 1)
        if char != "}":
            raise MalformedJsonError("cut off: it ends in the middle")
        self._move_to(self._position + 1)

    def read_single(self) -> Iterator[JsonElement]:
        """Yield the single value that begins here."""
        line = self._line
        self.is_malformed = False
        try:
            yield line, self._read_value()
        except MalformedJsonError as problem:
            yield UnreadablePiece(line, f"This piece is {problem}.", broken=True)
            self.is_malformed = True
            self.is_broken = not self._skip_value()

    def _read_value(self) -> Json:
        """Read the value that begins here. MalformedJsonError: it is none."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._position)
                # A number at the end of the text may go on in the next chunk.
                is_complete = end < len(self._text) or self._text[end - 1] in '"]}'
                if is_complete or not self._read_more(1):
                    self._move_to(end)
                    return value
            except MalformedJsonError as problem:
                size = len(self._text) - self._position
                if not problem.incomplete:
                    raise
                if size > LIMIT:
                    raise MalformedJsonError(f"longer than {LIMIT:,} characters") from None
                if not self._read_more(max(CHUNK, size)):
                    raise

    def _skip_value(self) -> bool:
        """Skip a malformed value to the comma or bracket behind it.

        False: there is none, or the bracket ends an object, in which no element can follow.
        """
        depth = 0
        is_quoted = False
        while True:
            mark = _MARK.search(self._text, self._position)
            if not mark:
                self._move_to(len(self._text))
                if not self._read_more(1):
                    return False
                continue
            char = mark[0]
            self._move_to(mark.start())
            if char == "\\":
                if self._position + 1 == len(self._text) and not self._read_more(1):
                    return False
                self._move_to(self._position + 2)
                continue
            if char == '"':
                is_quoted = not is_quoted
            elif not is_quoted:
                if depth == 0 and char in ",]}":
                    return char != "}"
                depth += _DEPTH_CHANGE.get(char, 0)
            self._move_to(self._position + 1)

    def _end_broken(self, message: str) -> UnreadablePiece:
        self.is_broken = True
        return UnreadablePiece(self._line, message, broken=True)

    def _move_to(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = position

    def _read_more(self, size: int) -> bool:
        """Read at least ``size`` more characters; drop those that are parsed.

        False: the text is at its end.
        """
        parts = [self._text[self._position :]]
        read_chars = 0
        for chunk in self._chunks:
            parts.append(chunk)
            read_chars += len(chunk)
            if read_chars >= size:
                break
        self._text = "".join(parts)
        self._position = 0
        return read_chars > 0
