"""Preview of an import: its contents counted, nothing stored; the entry is ``preview_import``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from engrams.core import Kind, StatedFields, Status
from engrams.errors import InputError
from engrams.transfer import formats
from engrams.transfer.documents.document_files import is_document, read_given
from engrams.transfer.documents.passages import DocumentSource, to_turns
from engrams.transfer.documents.reading_process import DocumentReadingProcess
from engrams.transfer.formats import (
    ExportedEdge,
    ExportedRecord,
    ImportFile,
    ParsedTurn,
    Piece,
    UnreadablePiece,
)
from engrams.transfer.imports.importer import DOCUMENT_FORMAT

_SAMPLES = 5
_SAMPLE_CHARS = 200


@dataclass(slots=True)
class ImportPreview:
    """Counts of what an import would bring."""

    format: str = ""
    """Formats of the files, each once, joined by commas."""
    stored: int = 0
    """Memories and messages."""
    history: int = 0
    """Those of them that are not true any more."""
    edges: int = 0
    files: int = 0
    """Files that can be read."""
    rejected: int = 0
    """Files that would be refused whole."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Line and reason of each piece that cannot be read."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Memories and messages by kind."""
    users: dict[str, int] = field(default_factory=dict)
    """Memories and messages by the users that the files name."""
    scopes: dict[str, int] = field(default_factory=dict)
    """Memories and messages by their scope labels, or by conversation."""
    samples: list[str] = field(default_factory=list)
    """Beginnings of the first texts."""

    def add(self, piece: Piece, now: datetime) -> None:
        """Count one piece."""
        match piece:
            case UnreadablePiece():
                self.bad.append((piece.line, piece.message))
            case ExportedEdge():
                self.edges += 1
            case ExportedRecord():
                record = piece.record
                self.edges += len(piece.edges)
                self._count(record.kind, record.text, is_past=record.status is not Status.ACTIVE)
            case ParsedTurn():
                turn = piece.turn
                self._count(piece.kind, turn.text, is_past=_is_past(turn.stated, now))
                scope = "/".join(piece.scope_labels) or piece.conversation or "-"
                self.scopes[scope] = self.scopes.get(scope, 0) + 1
                if piece.user:
                    self.users[piece.user] = self.users.get(piece.user, 0) + 1

    def note_format(self, format: str) -> None:
        """Add the format of a file, once."""
        if format not in self.format.split(", "):
            self.format = f"{self.format}, {format}" if self.format else format

    def _count(self, kind: Kind, text: str, *, is_past: bool) -> None:
        self.stored += 1
        if len(self.samples) < _SAMPLES:
            self.samples.append(text[:_SAMPLE_CHARS])
        self.history += is_past
        self.kinds[kind.value] = self.kinds.get(kind.value, 0) + 1


def preview_import(source: Path | str, format: str, now: datetime, name: str = "") -> ImportPreview:
    """Count what an import of a file, folder or zip would bring.

    ``name``: of the file, where its path does not tell it. InputError: it is one file, and cannot
    be read.
    """
    preview = ImportPreview()
    with DocumentReadingProcess() as reading, formats.open_files(source, name) as files:
        for file in files:
            try:
                file_format = _detect(file) if format == "auto" else format
                preview.note_format(file_format)
                for piece in _read_pieces(file, file_format, reading):
                    preview.add(piece, now)
                preview.files += 1
            except InputError as problem:
                if len(files) == 1:
                    raise InputError(f"{file.name}: {problem.message}", hint=problem.hint) from None
                preview.rejected += 1
                preview.bad.append((0, f"{file.name}: {problem.message}"))
    return preview


def _detect(file: ImportFile) -> str:
    return DOCUMENT_FORMAT if is_document(file) else formats.detect(file.open(), file.name)


def _read_pieces(file: ImportFile, format: str, reading: DocumentReadingProcess) -> Iterable[Piece]:
    if format != DOCUMENT_FORMAT:
        return formats.read(file.open(), format)
    document = read_given(file)
    source = DocumentSource(document.id, document.name, document.source, document.version)
    return to_turns(reading.read(document.data, document.name), source)


def _is_past(stated: StatedFields, now: datetime) -> bool:
    """Check that a statement has ended, or was given up."""
    if stated.retired_at is not None:
        return True
    return stated.valid_to is not None and stated.valid_to <= now
