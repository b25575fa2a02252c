"""OpenDocument files (``.odt``, ``.ods``, ``.odp``): text, tables, sheets and slides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from engrams.errors import InputError
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

_MOST_REPEATS = 100
"""Times that a cell is repeated: at the end of a row it fills the whole sheet."""
_NOT_SHOWN = frozenset({"tracked-changes", "annotation", "master-styles", "forms"})


def read(data: bytes) -> ReadDocument:
    """Read an OpenDocument file. InputError: it cannot be read."""
    package = DocumentPackage(data)
    if b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise InputError(
            "It is locked by a password.", hint="Save it without the password, then add that."
        )
    reading = _OpenDocumentReading()
    reading.read(package.parse("content.xml"))
    return ReadDocument(reading.blocks, _read_title(package))


def _read_title(package: DocumentPackage) -> str:
    if "meta.xml" not in package.names:
        return ""
    titles = iter_named(package.parse("meta.xml"), "title")
    return next((" ".join((title.text or "").split()) for title in titles), "")


@dataclass
class _OpenDocumentReading:
    """Blocks read so far, and where the next one stands."""

    blocks: list[TextBlock] = field(default_factory=list)
    slide: int = 0
    size: int = 0

    def read(self, root: Element) -> None:
        """Read everything below an element, in order."""
        waiting = [iter([root])]
        while waiting:
            element = next(waiting[-1], None)
            if element is None:
                waiting.pop()
                continue
            match local_name(element):
                case "h":
                    level = attribute(element, "outline-level")
                    self._add(_read_text(element), int(level) if level.isdecimal() else 1)
                case "p":
                    self._add(_read_text(element))
                case "table":
                    # Of a workbook a table is a sheet; in a text its name tells nothing.
                    self._add_table(element)
                case "page":
                    self.slide += 1
                    waiting.append(iter(element))
                case name if name not in _NOT_SHOWN:
                    if name == "spreadsheet":
                        self._add_sheets(element)
                    else:
                        waiting.append(iter(element))

    def _add_sheets(self, workbook: Element) -> None:
        for table in workbook:
            if local_name(table) == "table":
                self._add_table(table, attribute(table, "name"))

    def _add_table(self, table: Element, sheet: str = "") -> None:
        for text in describe_table(map(_read_cells, iter_named(table, "table-row"))):
            self._add(text, sheet=sheet)

    def _add(self, text: str, level: int = 0, sheet: str = "") -> None:
        if text:
            self.size += len(text)
            check_length(self.size)
            self.blocks.append(TextBlock(text, level, slide=self.slide, sheet=sheet))


def _read_cells(row: Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if local_name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        repeats = attribute(cell, "number-columns-repeated")
        count = min(int(repeats), _MOST_REPEATS) if repeats.isdecimal() else 1
        paragraphs = (_read_text(item) for item in cell if local_name(item) == "p")
        cells += [" ".join(filter(None, paragraphs))] * count
    return cells


def _read_text(element: Element) -> str:
    return " ".join("".join(_iter_text(element)).split())


def _iter_text(element: Element) -> Iterator[str]:
    """Yield the text below an element, in order, with the spaces that have elements of their own."""
    yield element.text or ""
    waiting = [iter(element)]
    tails: list[str] = []
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
            if tails:
                yield tails.pop()
            continue
        if local_name(child) in _NOT_SHOWN:
            yield child.tail or ""
            continue
        yield " " if local_name(child) in ("s", "tab", "line-break") else ""
        yield child.text or ""
        tails.append(child.tail or "")
        waiting.append(iter(child))
