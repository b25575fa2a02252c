"""Text that is recognised in a picture, or on the pages of a scan, added to a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engrams.errors import EngramsError, InputError
from engrams.installation import install_hint
from engrams.transfer.documents.pdf import join_paragraphs, make_scan_error
from engrams.transfer.documents.read_document import ReadDocument, TextBlock, check_length
from engrams.transfer.documents.text_recognition import OCR, TextRecogniser

_HEADING = "Read by OCR"
_MOST_PAGES = 500
"""Pages of a scan that are read: about half an hour."""
_MOST_FAILURES = 3
"""Pages that may fail before the rest is left alone."""
_OFF = "`engrams config documents.ocr auto` has engrams read it."


def needs_recognition(document: ReadDocument) -> bool:
    """True for a picture, and for a PDF with pages that are pictures."""
    return document.media.startswith("image/") or bool(document.scanned_pages)


def describe_unread(document: ReadDocument, *, is_off: bool) -> str:
    """Say that the text of pictures was not read; empty: of a picture nobody expects any.

    InputError: there is no other text. ``is_off``: the settings say so, else a library is missing.
    """
    if document.media:
        return ""
    advice = _OFF if is_off else f"To have engrams read it: {install_hint('ocr')}."
    if not document.has_text:
        raise make_scan_error(advice)
    return f"{_count_pages(document)} Their text was not read. {advice}"


def recognise_picture(
    document: ReadDocument, data: bytes, recogniser: TextRecogniser
) -> ReadDocument:
    """Add the text of a picture under a heading of its own. InputError: it cannot be read."""
    lines = recogniser.recognise(data)
    if not lines:
        return document
    blocks = [TextBlock(_HEADING, level=1, by=OCR), *(TextBlock(line, by=OCR) for line in lines)]
    return replace(document, blocks=(*document.blocks, *blocks))


def recognise_pages(
    document: ReadDocument, data: bytes, recogniser: TextRecogniser, progress: Callable[[], None]
) -> tuple[ReadDocument, str]:
    """Add the text of the pages of a scan; also say why some of them could not be read, if any.

    ``progress`` is called after each page. InputError: there is no text at all.
    """
    blocks = [*document.blocks]
    failures: list[str] = []
    size = 0
    for page in document.scanned_pages[:_MOST_PAGES]:
        try:
            lines = recogniser.recognise(data, page)
        except EngramsError as problem:
            failures.append(f"Page {page} was not read: {problem.message}")
            if len(failures) >= _MOST_FAILURES:
                break
            continue
        texts = join_paragraphs(lines)
        size += sum(map(len, texts))
        check_length(size)
        blocks += [TextBlock(text, page=page, by=OCR) for text in texts]
        progress()
    if len(document.scanned_pages) > _MOST_PAGES:
        failures.append(f"{_count_pages(document)} The first {_MOST_PAGES} were read.")
    full_document = replace(document, blocks=sorted(blocks, key=lambda block: block.page))
    if not full_document.has_text:
        reason = " ".join(failures) or "Its pages are pictures, and no text was recognised in them."
        raise InputError(reason, hint="Add a file that has text.")
    return full_document, " ".join(failures)


def _count_pages(document: ReadDocument) -> str:
    count = len(document.scanned_pages)
    return f"Pages that are pictures: {count}."
