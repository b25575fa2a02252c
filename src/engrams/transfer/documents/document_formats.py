"""Which kind of document a file is, by its contents, and the reader of each kind.

``read_document`` is the entry. It runs where the file may do no harm: ``reading_process``.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Literal, TypeAlias, get_args

from engrams.errors import InputError
from engrams.transfer.documents.read_document import DocumentReader, ReadDocument

DocumentKind: TypeAlias = Literal[
    "pdf", "docx", "pptx", "xlsx", "open", "epub", "html", "mail", "mailbox", "contacts", "calendar",
    "markdown", "text",
]  # fmt: skip
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
}
"""Module and function of each reader; a module is loaded when it reads."""
TEXT_KINDS = frozenset({"markdown", "text"})
"""Kinds that nothing but their name, or nothing at all, tells from a list of memories or a chat."""
HEAD = 4096
"""Bytes from which a kind is recognised, if it is no zip."""

_OFFICE_FILES: Mapping[str, DocumentKind] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
}
_MIME_KINDS: Mapping[str, DocumentKind] = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "open",
    "application/vnd.oasis.opendocument.spreadsheet": "open",
    "application/vnd.oasis.opendocument.presentation": "open",
}
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL
)
_MAIL_HEADER = re.compile(
    rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?(?:from|received|return-path|mime-version|message-id):",
    re.IGNORECASE,
)
_MAIL_SECOND = re.compile(rb"^(?:from|to|date|subject|message-id):", re.IGNORECASE | re.MULTILINE)
_LEAST_HEADERS = 3
_OLD_OFFICE = (
    "It is an Office file that is locked by a password, or of a format before 2007.",
    "Open it in Office or LibreOffice, and save it without a password as docx, xlsx, pptx or PDF.",
)
_UNREAD: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", *_OLD_OFFICE),
    (b"{\\rtf", "It is an RTF document.", "Save it as docx, ODT or PDF, then add that."),
)
"""Beginnings of documents that are not read, why, and what to do."""
_SEEN = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM")
_HEARD = (b"ID3", b"OggS", b"fLaC", b"RIFF", b"\xff\xfb", b"\x1aE\xdf\xa3")


def find_kind(head: bytes, name: str = "") -> DocumentKind | None:
    """Recognise a document by the first bytes of its file; None: it is a zip, or no document.

    ``name``: of the file; it tells Markdown from plain text.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    upper = start[:64].upper()
    kind: DocumentKind | None = None
    if b"%PDF-" in head[:1024]:
        kind = "pdf"
    elif upper.startswith(b"BEGIN:VCARD"):
        kind = "contacts"
    elif upper.startswith(b"BEGIN:VCALENDAR"):
        kind = "calendar"
    elif _HTML.match(start):
        kind = "html"
    elif start.startswith(b"From ") and _is_mail(start.partition(b"\n")[2]):
        kind = "mailbox"
    elif _is_mail(start):
        kind = "mail"
    elif b"\0" not in head or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        is_markdown = name.casefold().endswith((".md", ".markdown", ".mdx"))
        kind = "markdown" if is_markdown else "text"
    return kind


def find_zip_kind(archive: zipfile.ZipFile) -> DocumentKind | None:
    """Recognise a document that is a zip; None: it is an archive of files."""
    names = frozenset(archive.namelist())
    for name, kind in _OFFICE_FILES.items():
        if name in names:
            return kind
    if "mimetype" in names and archive.getinfo("mimetype").file_size < HEAD:
        try:
            mime = archive.read("mimetype").decode("ascii", "replace").strip()
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError):
            return None
        return _MIME_KINDS.get(mime)
    return None


def _is_mail(start: bytes) -> bool:
    """True for the header of a mail."""
    header = re.split(rb"\r?\n\r?\n", start, maxsplit=1)[0].replace(b"\r\n", b"\n") + b"\n"
    names = {match.group().lower() for match in _MAIL_SECOND.finditer(header)}
    return len(names) >= _LEAST_HEADERS and _MAIL_HEADER.match(header) is not None


def read_document(data: bytes, name: str) -> ReadDocument:
    """Read a document of any kind. InputError: it cannot be read; the hint says what to do."""
    kind = _choose_kind(data, name)
    module, function = _READERS[kind]
    reader: DocumentReader = getattr(import_module(f"{__package__}.{module}"), function)
    document = reader(data)
    if not any(block.text for block in document.blocks):
        raise InputError("There is no text in it.", hint="Add a file that has text.")
    return document


def _choose_kind(data: bytes, name: str) -> DocumentKind:
    """Choose the reader of a file. InputError: none reads it."""
    if not data.strip():
        raise InputError("It is empty.", hint="Add a file that has text.")
    for mark, message, hint in _UNREAD:
        if data.startswith(mark):
            raise InputError(message, hint=hint)
    if data.startswith(_SEEN) or (data.startswith(_HEARD) and b"\0" in data[:HEAD]):
        raise InputError(
            "Pictures, sound and video are not read.",
            hint="Add the text: of a scan what OCR recognised, of a recording its transcript.",
        )
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
