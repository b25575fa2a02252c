"""Kinds of documents, recognised by their contents."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from typing import Literal, TypeAlias

DocumentKind: TypeAlias = Literal[
    "pdf", "docx", "pptx", "xlsx", "open", "epub", "html", "mail", "mailbox", "contacts", "calendar",
    "markdown", "text",
]  # fmt: skip
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
_NAMED_KINDS: Mapping[str, DocumentKind] = {
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "markdown",
    "html": "html",
    "htm": "html",
    "eml": "mail",
}
"""Kinds of text by the endings of names: a page may have no ``<html>``, and the header of a mail that went
through many servers is longer than what is looked at."""
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL
)
_MAIL_HEADER = re.compile(
    rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?(?:from|received|return-path|mime-version|message-id):",
    re.IGNORECASE,
)
_MAIL_SECOND = re.compile(rb"^(?:from|to|date|subject|message-id):", re.IGNORECASE | re.MULTILINE)
_LEAST_HEADERS = 3


def find_kind(head: bytes, name: str = "") -> DocumentKind | None:
    """Recognise a document by the first bytes of its file; None: it is a zip, or no document.

    ``name``: of the file; its ending tells what text it is that does not begin as its kind does.
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
        kind = _NAMED_KINDS.get(name.casefold().rpartition(".")[2], "text")
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
