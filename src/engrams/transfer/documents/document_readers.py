"""The reader of each kind of document; ``read_document`` is the entry.

It runs where the file may do no harm: ``reading_process``.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import get_args

from engrams.errors import InputError
from engrams.transfer.documents.document_kinds import (
    HEAD,
    DocumentKind,
    find_kind,
    find_media_type,
    find_zip_kind,
)
from engrams.transfer.documents.read_document import DocumentReader, ReadDocument

_READERS: Mapping[DocumentKind, tuple[str, str]] = {
    "pdf": ("pdf", "read"),
    "docx": ("word", "read"),
    "pptx": ("slides", "read"),
    "xlsx": ("sheets", "read"),
    "open": ("open_document", "read"),
    "epub": ("epub", "read"),
    "html": ("html", "read"),
    "mail": ("mail", "read"),
    "mailbox": ("mail", "read_mailbox"),
    "contacts": ("cards", "read_contacts"),
    "calendar": ("cards", "read_calendar"),
    "markdown": ("plain_text", "read_markdown"),
    "text": ("plain_text", "read_plain"),
    "picture": ("pictures", "read"),
    "sound": ("sounds", "read"),
}
"""Module and function of each reader; a module is loaded when it reads."""
READ_MEDIA = "PNG, JPEG, WebP, GIF, HEIC, WAV, MP3, M4A, OGG"
"""Kinds of pictures and sound that are read."""
_OLD_OFFICE = (
    "It is an Office file that is locked by a password, or of a format before 2007.",
    "Open it in Office or LibreOffice, and save it without a password as docx, xlsx, pptx or PDF.",
)
_UNREAD: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", *_OLD_OFFICE),
    (b"{\\rtf", "It is an RTF document.", "Save it as docx, ODT or PDF, then add that."),
)
"""Beginnings of documents that are not read, why, and what to do."""
_OTHER_PICTURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"II*\0", b"MM\0*", b"BM")
_OTHER_MEDIA = (b"OggS", b"fLaC", b"RIFF", b"\x1aE\xdf\xa3")
_SVG = re.compile(rb"(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<svg[\s>]", re.IGNORECASE | re.DOTALL)
_PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".heic")


def read_document(data: bytes, name: str) -> ReadDocument:
    """Read a document of any kind. InputError: it cannot be read; the hint says what to do."""
    kind = _choose_kind(data, name)
    module, function = _READERS[kind]
    reader: DocumentReader = getattr(import_module(f"{__package__}.{module}"), function)
    document = reader(data)
    if not document.has_text and not document.scanned_pages:
        raise InputError("There is no text in it.", hint="Add a file that has text.")
    return document


def _refuse_other_media(data: bytes, name: str) -> None:
    """Refuse pictures, sound and video of kinds that are not read. InputError: it is one."""
    head = data[:HEAD]
    if find_media_type(head):
        return
    is_film = head[4:8] == b"ftyp"
    if (
        head.startswith(_OTHER_PICTURES)
        or is_film
        or (head.startswith(_OTHER_MEDIA) and b"\0" in head)
    ):
        raise InputError(
            "It is a picture, sound or video of a kind that is not read.",
            hint=f"These are read: {READ_MEDIA}. Of a video add its sound.",
        )
    if name.casefold().endswith(_PICTURE_NAMES) and _SVG.match(head.lstrip(b"\xef\xbb\xbf \t\r\n")):
        raise InputError(
            "It is an SVG drawing, which may hold scripts.", hint="Save it as PNG, then add that."
        )


def _choose_kind(data: bytes, name: str) -> DocumentKind:
    """Choose the reader of a file. InputError: none reads it."""
    if not data.strip():
        raise InputError("It is empty.", hint="Add a file that has text.")
    for mark, message, hint in _UNREAD:
        if data.startswith(mark):
            raise InputError(message, hint=hint)
    _refuse_other_media(data, name)
    kind: DocumentKind | None
    if data.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                kind = find_zip_kind(archive)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as problem:
            raise InputError(
                f"The file is damaged: {problem}.", hint="Get a fresh copy of it."
            ) from None
    else:
        kind = find_kind(data[:HEAD], name)
    if kind is None:
        raise InputError(
            "It is no document that can be read.",
            hint=f"These are read: {', '.join(get_args(DocumentKind))}.",
        )
    return kind
