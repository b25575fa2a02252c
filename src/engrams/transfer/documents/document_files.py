"""Files of an import that are documents: recognised, and read into memory."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from engrams.errors import InputError
from engrams.transfer.documents.document_kinds import (
    HEAD,
    MEDIA_KINDS,
    TEXT_KINDS,
    DocumentKind,
    find_kind,
    find_zip_kind,
)
from engrams.transfer.documents.reading_process import MOST_BYTES
from engrams.transfer.documents.stored_documents import GivenDocument
from engrams.transfer.formats import STDIN, ImportFile

_ZIP = b"PK\x03\x04"


def is_document(file: ImportFile) -> bool:
    """True for a file that can only be a document: not for text, which may be memories or a chat.

    Nor for pictures and sound: exports of chats are full of them.
    """
    kind = _find_kind(file)
    return kind is not None and kind not in TEXT_KINDS | MEDIA_KINDS


def is_readable(file: ImportFile) -> bool:
    """True for a file with text that is read as a document."""
    kind = _find_kind(file)
    return kind is not None and kind not in MEDIA_KINDS


def is_media(file: ImportFile) -> bool:
    """True for a picture or sound."""
    return _find_kind(file) in MEDIA_KINDS


def _find_kind(file: ImportFile) -> DocumentKind | None:
    try:
        head = _read(file, HEAD)
    except InputError:
        return None  # whoever reads it says why it cannot be read
    if not head.startswith(_ZIP):
        return find_kind(head, file.name)
    try:
        with zipfile.ZipFile(file.open()) as archive:
            return find_zip_kind(archive)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return None


def read_given(file: ImportFile, origin: str = "", upload: str = "") -> GivenDocument:
    """Read a file whole. InputError: it cannot be read, or is too large.

    ``origin``: path of what is imported, for a file in a zip. ``upload``: name of an upload, whose
    path tells nothing.
    """
    data = _read(file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(
            f"It has more than {MOST_BYTES:,} bytes.",
            hint="Split it, and add the parts that you need.",
        )
    if upload:
        document = GivenDocument.from_upload(
            upload if upload == file.name else f"{upload}/{file.name}", data
        )
        return replace(document, name=file.name)
    if file.source:
        source = file.source
    elif file.path is not None:
        source = str(file.path.resolve())
    else:
        source = f"{Path(origin).resolve()}/{file.name}" if origin not in ("", STDIN) else file.name
    return GivenDocument(file.name, source, data)


def _read(file: ImportFile, size: int) -> bytes:
    """Read the first bytes of a file. InputError: it cannot be read."""
    origin = file.open()
    try:
        if isinstance(origin, str | Path):
            with Path(origin).open("rb") as stream:
                return stream.read(size)
        return _to_bytes(origin, size)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as problem:
        raise InputError(
            f"It cannot be read: {problem}.", hint="Check the path and its permissions."
        ) from None


def _to_bytes(stream: IO[Any], size: int) -> bytes:
    data = stream.read(size)
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
