"""Word documents (``.docx``): paragraphs, headings by their styles, tables row by row, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from engrams.transfer.documents.packages import (
    DocumentPackage,
    attribute,
    iter_named,
    local_name,
    parse_xml,
)
from engrams.transfer.documents.read_document import (
    ReadDocument,
    TextBlock,
    check_length,
    describe_table,
)

_BODY = "word/document.xml"
_STYLES = "word/styles.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_PROPERTIES = "docProps/core.xml"
_HEADING = re.compile(r"heading (\d)")
_TITLE_LEVEL = 1
_NOT_SHOWN = frozenset({"del", "moveFrom", "instrText", "delText"})
"""Text that was deleted or moved away, and the commands of fields."""


def read(data: bytes) -> ReadDocument:
    """Read a Word document. InputError: it cannot be read."""
    package = DocumentPackage(data)
    levels = _read_heading_levels(package)
    body = parse_xml(package.read(_BODY))
    blocks = [*_read_blocks(body, levels)]
    for name in _NOTES:
        if name in package.names:
            blocks += _read_blocks(parse_xml(package.read(name)), {})
    return ReadDocument(blocks, read_title(package))


def read_title(package: DocumentPackage) -> str:
    """Read the title in the properties of an Office file; empty: it has none."""
    if _PROPERTIES not in package.names:
        return ""
    titles = iter_named(package.parse(_PROPERTIES), "title")
    return next((" ".join((title.text or "").split()) for title in titles), "")


def _read_heading_levels(package: DocumentPackage) -> dict[str, int]:
    """Read which styles are headings, by their ids: those differ with the language of Word."""
    if _STYLES not in package.names:
        return {}
    levels: dict[str, int] = {}
    for style in iter_named(package.parse(_STYLES), "style"):
        names = [attribute(name, "val").casefold() for name in iter_named(style, "name")]
        match = _HEADING.fullmatch(names[0]) if names else None
        if match:
            levels[attribute(style, "styleId")] = int(match[1])
        elif names[:1] == ["title"]:
            levels[attribute(style, "styleId")] = _TITLE_LEVEL
    return levels


def _read_blocks(root: Element, levels: dict[str, int]) -> Iterator[TextBlock]:
    """Yield paragraphs and rows; a table in a cell of another one belongs to that cell."""
    size = 0
    waiting = [iter([root])]
    while waiting:
        element = next(waiting[-1], None)
        if element is None:
            waiting.pop()
            continue
        match local_name(element):
            case "p":
                blocks = [_read_paragraph(element, levels)]
            case "tbl":
                rows = [_read_cells(row) for row in element if local_name(row) == "tr"]
                blocks = [TextBlock(text) for text in describe_table(rows)]
            case _:
                waiting.append(iter(element))
                continue
        for block in blocks:
            if block.text:
                size += len(block.text)
                check_length(size)
                yield block


def _read_paragraph(paragraph: Element, levels: dict[str, int]) -> TextBlock:
    style = next(iter_named(paragraph, "pStyle"), None)
    outline = next(iter_named(paragraph, "outlineLvl"), None)
    level = levels.get(attribute(style, "val"), 0) if style is not None else 0
    if not level and outline is not None and attribute(outline, "val").isdecimal():
        level = int(attribute(outline, "val")) + 1
    return TextBlock(read_text(paragraph), level if level <= 9 else 0)


def _read_cells(row: Element) -> list[str]:
    return [read_text(cell) for cell in row if local_name(cell) == "tc"]


def read_text(element: Element) -> str:
    """Return the visible text below an element of Word, without deleted and hidden words."""
    parts: list[str] = []
    waiting = [iter([element])]
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
            continue
        name = local_name(child)
        if name == "t":
            parts.append(child.text or "")
        elif name in ("tab", "br", "cr", "p"):
            parts.append(" ")
        if name in _NOT_SHOWN or (name == "r" and _is_hidden(child)):
            continue
        waiting.append(iter(child))
    return " ".join("".join(parts).split())


def _is_hidden(run: Element) -> bool:
    return any(
        local_name(mark) == "vanish" and attribute(mark, "val") not in ("0", "false")
        for properties in run
        if local_name(properties) == "rPr"
        for mark in properties
    )
