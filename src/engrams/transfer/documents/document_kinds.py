"""Kinds of documents, recognised by their contents."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from typing import Literal, TypeAlias

DocumentKind: TypeAlias = Literal[
    "pdf", "docx", "pptx", "xlsx", "open", "epub", "html", "mail", "mailbox", "contacts", "calendar",
    "markdown", "text", "picture", "sound",
]  # fmt: skip
MEDIA_KINDS = frozenset({"picture", "sound"})
"""Kinds that have no text of their own."""
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
_MEDIA_STARTS: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"ID3": "audio/mpeg",
}
_HEIC_BRANDS = frozenset((b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"))
"""Brands of HEIC pictures (ISO/IEC 23008-12, annex B)."""
_M4A_BRANDS = frozenset((b"M4A ", b"M4B "))
"""Brands of files of Apple's that hold sound alone; those of other brands may hold a film."""
_OGG_SOUNDS = (b"\x01vorbis", b"OpusHead", b"Speex   ", b"\x7fFLAC")
_MP3_FRAME = re.compile(rb"\xff[\xfb\xfa\xf3\xf2][\x10-\xef]", re.DOTALL)
"""Header of a frame of MPEG layer III: version 1 or 2, a bit rate that is known."""


def find_kind(head: bytes, name: str = "") -> DocumentKind | None:
    """Recognise a document by the first bytes of its file; None: it is a zip, or no document.

    ``name``: of the file; its ending tells what text it is that does not begin as its kind does.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    upper = start[:64].upper()
    kind: DocumentKind | None = None
    if media_type := find_media_type(head):
        kind = "picture" if media_type.startswith("image/") else "sound"
    elif b"%PDF-" in head[:1024]:
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


def find_media_type(head: bytes) -> str:
    """Recognise a picture or sound that is read by the first bytes of its file; empty: it is none."""
    for start, media_type in _MEDIA_STARTS.items():
        if head.startswith(start):
            return media_type
    brand = head[8:12]
    media_type = ""
    if head.startswith(b"RIFF"):
        media_type = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(brand, "")
    elif head[4:8] == b"ftyp":
        if brand in _HEIC_BRANDS:
            media_type = "image/heic"
        elif brand in _M4A_BRANDS:
            media_type = "audio/mp4"
    elif head.startswith(b"OggS") and any(mark in head[:256] for mark in _OGG_SOUNDS):
        media_type = "audio/ogg"
    elif _MP3_FRAME.match(head):
        media_type = "audio/mpeg"
    return media_type


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
