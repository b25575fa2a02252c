"""PDF documents: the text of each page, with its paragraphs, numbered headings and tables."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

from engrams.errors import ExtraError, InputError
from engrams.installation import install_hint
from engrams.transfer.documents.pdf_tables import PagePart, PageText
from engrams.transfer.documents.read_document import ReadDocument, TextBlock, check_length

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdf import PageObject, PdfReader

_MOST_PAGES = 5000
_HEADING = re.compile(
    r"(?:(?:\d{1,2}\.){1,4}|\d{1,2}(?:\.\d{1,2}){0,3}|§\s?\d+\w?|Article \d+|Section \d+)\.?\s+[^\W\d_].*"
)
_LONGEST_HEADING = 80
_NUMBER = re.compile(r"\d+")
_SHORT_LINE = 0.7
"""Share of the usual line's length below which a line ends its paragraph."""
_SHOWN_PAGES = 3
"""Pages on which a line stands that heads or ends every page."""
_LEAST_CHARACTERS = 20
"""Characters of a page below which it is a picture of text."""

_ODD_RESOURCES = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""Errors of a page whose list of pictures is damaged."""


def read(data: bytes) -> ReadDocument:
    """Read a PDF page by page. InputError: it is locked, damaged, or without text and pictures."""
    reader = _open(data)
    scanned_pages: list[int] = []
    with _name_damage():
        if len(reader.pages) > _MOST_PAGES:
            raise InputError(
                f"It has {len(reader.pages):,} pages; {_MOST_PAGES:,} is the most.",
                hint="Split it, and add the parts that you need.",
            )
        metadata = reader.metadata
        title = str(metadata.get("/Title") or "") if metadata else ""
        pages: list[list[PagePart]] = []
        size = 0
        for number, page in enumerate(reader.pages, 1):
            page_text = PageText()
            page_size = len(page.extract_text(visitor_text=page_text.take))
            size += page_size
            check_length(size)
            pages.append([*page_text.split()])
            if page_size < _LEAST_CHARACTERS and _has_pictures(page):
                scanned_pages.append(number)
    if pages and size < _LEAST_CHARACTERS * len(pages) and not scanned_pages:
        raise make_scan_error()
    return ReadDocument(
        _read_pages(pages), " ".join(title.split()), scanned_pages=tuple(scanned_pages)
    )


def _has_pictures(page: PageObject) -> bool:
    try:
        return len(page.images) > 0
    except _ODD_RESOURCES:
        return False


def make_scan_error(advice: str = "") -> InputError:
    """Make the error of a PDF without text. ``advice``: the way to have engrams read it."""
    hint = "Run it through a program that recognises text (OCR), then add the result."
    return InputError(
        "It is a scan: its pages are pictures without text.", hint=f"{advice} {hint}".strip()
    )


def iter_images(data: bytes, page: int) -> Iterator[Image]:
    """Yield the pictures of a page, from 1, as it is turned. InputError: the PDF is damaged."""
    with _name_damage():
        pdf_page = _open(data).pages[page - 1]
        for picture in pdf_page.images:
            if picture.image is not None:
                yield picture.image.rotate(-pdf_page.rotation, expand=True)


def _open(data: bytes) -> PdfReader:
    """Open a PDF. InputError: it is locked or damaged. ExtraError: no library."""
    try:
        import pypdf  # an optional part, which only PDFs need
    except ImportError:
        raise ExtraError("Reading PDFs needs pypdf.", hint=install_hint("documents")) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every small flaw
    with _name_damage():
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(
                "It is locked by a password.",
                hint="Save a copy without the password (print it to a PDF), then add that.",
            )
    return reader


@contextmanager
def _name_damage() -> Iterator[None]:
    """Turn the library's errors into InputError."""
    from pypdf.errors import PyPdfError

    try:
        yield
    except PyPdfError as problem:
        raise InputError(
            f"The PDF is damaged: {type(problem).__name__}.", hint="Get a fresh copy of it."
        ) from None


def _read_pages(pages: Sequence[Sequence[PagePart]]) -> list[TextBlock]:
    repeated = _find_repeated(
        [[line for part in parts if not part.is_table for line in part.lines] for parts in pages]
    )
    blocks: list[TextBlock] = []
    for number, parts in enumerate(pages, 1):
        for part in parts:
            if part.is_table:
                blocks += [TextBlock(row, page=number) for row in part.lines]
                continue
            body = [line for line in part.lines if _NUMBER.sub("", line) not in repeated]
            blocks += [
                TextBlock(text, level=2 if _is_heading(text) else 0, page=number)
                for text in join_paragraphs(body)
            ]
    return blocks


def _find_repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Find the lines at the edges of most pages, such as their number, without digits."""
    edges = Counter(
        edge
        for lines in pages
        for edge in {_NUMBER.sub("", line) for line in (*lines[:2], *lines[-2:])}
    )
    smallest_count = max(_SHOWN_PAGES, len(pages) // 2 + 1)
    return frozenset(edge for edge, count in edges.items() if count >= smallest_count)


def join_paragraphs(lines: Sequence[str]) -> list[str]:
    """Join the lines of a page to paragraphs; a short line ends one, and a heading stands alone."""
    usual = median(sorted(map(len, lines))[len(lines) // 2 :]) if lines else 0
    paragraphs: list[str] = []
    is_open = False
    for line in lines:
        is_alone = _is_heading(line)
        if is_open and not is_alone:
            joined = paragraphs[-1]
            if joined.endswith("-") and line[:1].islower():
                paragraphs[-1] = joined[:-1] + line
            else:
                paragraphs[-1] = f"{joined} {line}"
        else:
            paragraphs.append(line)
        is_open = not is_alone and len(line) >= _SHORT_LINE * usual
    return paragraphs


def _is_heading(line: str) -> bool:
    """True for a short line with the number of a section: "4. Pets"."""
    return (
        len(line) <= _LONGEST_HEADING
        and line[-1:] not in ".,;:"
        and _HEADING.fullmatch(line) is not None
    )
