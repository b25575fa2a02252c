"""Presentations (``.pptx``): each slide with its title, its text, its tables and its notes."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from engrams.transfer.documents.packages import (
    DocumentPackage,
    attribute,
    iter_named,
    local_name,
)
from engrams.transfer.documents.read_document import (
    ReadDocument,
    TextBlock,
    check_length,
    describe_table,
)
from engrams.transfer.documents.word import read_title

_PRESENTATION = "ppt/presentation.xml"
_TITLES = frozenset({"title", "ctrTitle"})
_NOT_TOLD = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
"""Placeholders that say nothing: number, date and footer of the slide, its picture in the notes."""


def read(data: bytes) -> ReadDocument:
    """Read a presentation, slide by slide. InputError: it cannot be read."""
    package = DocumentPackage(data)
    relations = package.find_relations(_PRESENTATION)
    slides = [
        relations[attribute(slide, "id")]
        for slide in _list_slides(package)
        if relations.get(attribute(slide, "id")) in package.names
    ]
    blocks: list[TextBlock] = []
    size = 0
    for number, name in enumerate(slides, 1):
        for block in _read_slide(package, name, number):
            size += len(block.text)
            check_length(size)
            blocks.append(block)
    return ReadDocument(blocks, read_title(package))


def _list_slides(package: DocumentPackage) -> Iterator[Element]:
    # ``id`` with a namespace names the file; the plain one is a number.
    for slide in iter_named(package.parse(_PRESENTATION), "sldId"):
        slide.attrib.pop("id", None)
        yield slide


def _read_slide(package: DocumentPackage, name: str, number: int) -> Iterator[TextBlock]:
    yield from _read_shapes(package.parse(name), number)
    for target in package.find_relations(name).values():
        if "/notesSlides/" in f"/{target}" and target in package.names:
            yield from _read_shapes(package.parse(target), number, is_note=True)


def _read_shapes(root: Element, number: int, *, is_note: bool = False) -> Iterator[TextBlock]:
    for shape in iter_named(root, "sp", "graphicFrame"):
        if local_name(shape) == "graphicFrame":
            for table in iter_named(shape, "tbl"):
                rows = [
                    [_read_text(cell) for cell in iter_named(row, "tc")]
                    for row in iter_named(table, "tr")
                ]
                yield from (TextBlock(text, slide=number) for text in describe_table(rows))
            continue
        roles = {attribute(mark, "type") for mark in iter_named(shape, "ph")}
        if roles & _NOT_TOLD:
            continue
        paragraphs = [_read_text(paragraph) for paragraph in iter_named(shape, "p")]
        if roles & _TITLES and not is_note:
            yield TextBlock(" ".join(filter(None, paragraphs)), level=1, slide=number)
        else:
            yield from (TextBlock(text, slide=number) for text in paragraphs if text)


def _read_text(element: Element) -> str:
    words = (
        text.text or "" if local_name(text) == "t" else " "
        for text in iter_named(element, "t", "br", "p")
    )
    return " ".join("".join(words).split())
