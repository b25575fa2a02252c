"""Decode a file, pipe or zip of any encoding to text.

``open_text`` is the entry: it yields a ``DecodedTextReader``, which gives the text in chunks or in
lines. Binary files are refused by their first bytes, and wherever they stop being text.
"""

from __future__ import annotations

import codecs
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from engrams.errors import InputError
from engrams.text.binary_detection import is_binary, refuse_binary
from engrams.text.text_encodings import WESTERN, detect_encoding
from engrams.transfer.formats.import_sources import STDIN, ImportSource, describe_source, open_stdin
from engrams.transfer.formats.pieces import TextLine, UnreadablePiece

HEAD = 65_536
"""Bytes from which encoding and format are recognised."""
CHUNK = 1 << 20
"""Bytes read at a time."""
LIMIT = 64 << 20
"""Characters of the longest line or JSON element."""

_ZIP = b"PK\x03\x04"


class ByteStream(Protocol):
    """Anything that gives bytes (or text, which is encoded again)."""

    def read(self, size: int = -1, /) -> Any: ...


class DecodedTextReader:
    """Text of one file, to be read once."""

    head: str
    """Beginning of the text."""
    whole: bool
    """True where everything is read; at first: where the head is the whole text."""
    name: str
    """Path of the file. Empty: unknown."""

    def __init__(self, stream: ByteStream, name: str = "") -> None:
        """Read the head of a stream. InputError: it is not text."""
        self.name = name
        self._stream = stream
        start = _read_head(stream)
        encoding, mark_length = detect_encoding(start)
        refuse_binary(start, encoding)
        self._encoding = encoding
        self._size = len(start)
        decoder = codecs.getincrementaldecoder(encoding)(WESTERN)
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self.whole = len(start) < HEAD
        self.head = self._decoder.decode(start[mark_length:], self.whole)

    def chunks(self) -> Iterator[str]:
        """Yield the text in parts, the head first. InputError: it cannot be read on."""
        yield self.head
        while not self.whole:
            try:
                data = _to_bytes(self._stream.read(CHUNK))
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as problem:
                raise InputError(
                    f"The file cannot be read on: {problem}.", hint="Get a fresh copy of it."
                ) from None
            if is_binary(data, self._encoding):
                raise InputError(
                    f"The file is not text from byte {self._size:,} on.",
                    hint="Get a fresh copy of it.",
                )
            self._size += len(data)
            self.whole = not data
            yield self._decoder.decode(data, self.whole)

    def lines(self) -> Iterator[TextLine]:
        """Yield numbered lines; a line longer than ``LIMIT`` is an unreadable piece."""
        return _split_lines(self.chunks())


@contextmanager
def open_text(source: ImportSource) -> Iterator[DecodedTextReader]:
    """Open a file, stream or zip as text. InputError: it cannot."""
    if isinstance(source, str | Path) and str(source) == STDIN:
        source = open_stdin()
    name = describe_source(source)
    if isinstance(source, str | Path):
        with _open_file(Path(source)) as file, _unzip(file) as stream:
            yield DecodedTextReader(stream, name)
    else:
        with _unzip(source) as stream:
            yield DecodedTextReader(stream, name)


def _open_file(path: Path) -> IO[Any]:
    try:
        return path.open("rb")
    except (OSError, ValueError) as problem:
        raise InputError(
            f"{path} cannot be read: {_failure_text(problem)}.",
            hint="Check the path and its permissions.",
        ) from None


def _failure_text(problem: OSError | ValueError) -> str:
    return (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)


def _to_bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


def _read_head(stream: ByteStream) -> bytes:
    """Read up to HEAD bytes; a pipe gives them in parts."""
    parts: list[bytes] = []
    size = 0
    try:
        while size < HEAD:
            part = _to_bytes(stream.read(HEAD - size))
            if not part:
                break
            parts.append(part)
            size += len(part)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as problem:
        raise InputError(
            f"The file cannot be read: {problem}.",
            hint="Give a file, not a folder; or get a fresh copy of it.",
        ) from None
    return b"".join(parts)


@contextmanager
def _unzip(stream: IO[Any]) -> Iterator[ByteStream]:
    """Open the stream, or the conversations.json files of a zip."""
    start = b""
    try:
        start = _to_bytes(stream.read(len(_ZIP)))
    except OSError as problem:
        raise InputError(
            f"The file cannot be read: {_failure_text(problem)}.", hint="Give a file, not a folder."
        ) from None
    if start != _ZIP:
        yield _JoinedByteStream([io.BytesIO(start), stream])
        return
    with _rewind(start, stream) as seekable:
        try:
            archive = zipfile.ZipFile(seekable)
            members = [
                archive.open(name) for name in sorted(archive.namelist()) if is_conversations(name)
            ]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
            raise InputError(
                f"The zip cannot be read: {problem}.", hint="Get a fresh copy without a password."
            ) from None
        if not members:
            raise InputError(
                "The zip contains no conversations.json.",
                hint="Unpack it and give the file itself.",
            )
        yield _JoinedByteStream(members)


@contextmanager
def _rewind(start: bytes, stream: IO[Any]) -> Iterator[IO[Any]]:
    """Rewind the stream; a pipe is copied to a file first."""
    if stream.seekable():
        stream.seek(-len(start), os.SEEK_CUR)
        yield stream
        return
    with tempfile.TemporaryFile() as spool:
        spool.write(start)
        shutil.copyfileobj(stream, spool)
        yield spool


def is_conversations(name: str) -> bool:
    """Check the name of a chat export's main file."""
    file_name = name.rsplit("/", 1)[-1].casefold()
    return file_name.startswith("conversations") and file_name.endswith(".json")


class _JoinedByteStream:
    """Several streams, read as one."""

    def __init__(self, streams: list[IO[Any]]) -> None:
        self._streams = streams

    def read(self, size: int = -1) -> bytes:
        while self._streams:
            part = _to_bytes(self._streams[0].read(size))
            if part:
                return part
            self._streams.pop(0)
        return b""


def _split_lines(chunks: Iterable[str]) -> Iterator[TextLine]:
    """Split a text that comes in parts into numbered lines, without their ends."""
    number = 1
    parts = [""]  # of the line that is being read; what exceeds the limit is dropped
    size = 0  # characters of that line
    for chunk in chunks:
        line_rest, *lines = chunk.split("\n")
        size += len(line_rest)
        if size <= LIMIT:
            parts.append(line_rest)
        for line in lines:
            yield _join_line(number, parts, size)
            number += 1
            parts = [line]
            size = len(line)
    if size:
        yield _join_line(number, parts, size)


def _join_line(number: int, parts: list[str], size: int) -> TextLine:
    if size > LIMIT:
        return UnreadablePiece(number, f"The line is longer than {LIMIT:,} characters.")
    return number, "".join(parts)
