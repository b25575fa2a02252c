"""Documents are read in a process of their own: ``DocumentReadingProcess.read``.

``read_ahead`` lets it read the next document while the caller stores this one.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from engrams.errors import InputError
from engrams.transfer.documents import limited_process
from engrams.transfer.documents.document_readers import read_document
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

SECONDS = 60.0
"""Longest time that one document may take."""
MOST_BYTES = 100 << 20
"""Bytes of the largest document."""
_MOST_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class _ReadingAhead:
    """A document that is read before it is asked for."""

    data: bytes
    name: str
    future: Future[ReadDocument]


class DocumentReadingProcess:
    """A process that reads documents one after the other; the first one starts it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """Set the process up. ``seconds``: longest time of one document."""
        self._process = limited_process.LimitedProcess(__name__, seconds)
        self._executor = ThreadPoolExecutor(1, "engrams-reading")
        self._ahead: _ReadingAhead | None = None

    def __enter__(self) -> DocumentReadingProcess:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_ahead(self, data: bytes, name: str) -> None:
        """Begin to read a document, for the next ``read`` of it. Its errors are raised there."""
        self._ahead = _ReadingAhead(data, name, self._executor.submit(self._read, data, name))

    def read(self, data: bytes, name: str) -> ReadDocument:
        """Read a document. InputError: why it cannot be read, and what to do."""
        ahead = self._ahead
        if ahead is not None and ahead.data is data and ahead.name == name:
            self._ahead = None
            return ahead.future.result()
        return self._read(data, name)

    def _read(self, data: bytes, name: str) -> ReadDocument:
        if len(data) > MOST_BYTES:
            raise InputError(
                f"It has {len(data):,} bytes; {MOST_BYTES:,} is the most.",
                hint="Split it, and add the parts that you need.",
            )
        return _to_document(self._process.ask(data, name))

    def close(self) -> None:
        """End the process, with what it still reads."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._process.kill()
        self._executor.shutdown()
        self._process.close()


def serve() -> None:
    """Read the documents of standard input until it ends."""
    limited_process.serve(_read_to_json, _MOST_MEMORY)


def _read_to_json(data: bytes, name: str) -> dict[str, Any]:
    return asdict(read_document(data, name))


def _to_document(answer: dict[str, Any]) -> ReadDocument:
    blocks = tuple(TextBlock(**block) for block in answer["blocks"])
    pages = tuple(answer["scanned_pages"])
    return ReadDocument(**{**answer, "blocks": blocks, "scanned_pages": pages})
