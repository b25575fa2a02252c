"""Books (``.epub``): the chapters in their order, each a web page."""

from __future__ import annotations

import posixpath

from engrams.errors import InputError
from engrams.transfer.documents import html
from engrams.transfer.documents.packages import DocumentPackage, attribute, iter_named
from engrams.transfer.documents.read_document import ReadDocument, TextBlock, check_length

_CONTAINER = "META-INF/container.xml"
_LOCK = "META-INF/rights.xml"
_LICENCE = "META-INF/license.lcpl"
_PAGES = ("application/xhtml+xml", "text/html")


def read(data: bytes) -> ReadDocument:
    """Read a book. InputError: it is locked or damaged."""
    package = DocumentPackage(data)
    if {_LOCK, _LICENCE} & package.names:
        raise InputError(
            "The book is locked by its seller (DRM).", hint="Add a copy without the lock."
        )
    files = [
        attribute(root, "full-path") for root in iter_named(package.parse(_CONTAINER), "rootfile")
    ]
    if not files:
        raise InputError("The book names no contents.", hint="Get a fresh copy of it.")
    root = package.parse(files[0])
    folder = posixpath.dirname(files[0])
    pages = {
        attribute(item, "id"): package.locate(folder, attribute(item, "href"))
        for item in iter_named(root, "item")
        if attribute(item, "media-type") in _PAGES
    }
    blocks: list[TextBlock] = []
    size = 0
    chapters = [pages.get(attribute(item, "idref"), "") for item in iter_named(root, "itemref")]
    for chapter in dict.fromkeys(chapters):
        if chapter in package.names:
            read_blocks = html.read(package.read(chapter)).blocks
            size += sum(len(block.text) for block in read_blocks)
            check_length(size)
            blocks += read_blocks
    titles = (" ".join((title.text or "").split()) for title in iter_named(root, "title"))
    return ReadDocument(blocks, next(titles, ""))
