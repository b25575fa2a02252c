"""Workbooks (``.xlsx``): each row as a sentence with the headers of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
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

_WORKBOOK = "xl/workbook.xml"
_STRINGS = "xl/sharedStrings.xml"
_STYLES = "xl/styles.xml"
_REFERENCE = re.compile(r"([A-Z]{1,3})\d+")
_MOST_COLUMNS = 1000
_DATE_FORMATS = frozenset({*range(14, 18), 22})
_DATE_CODE = re.compile(r"[yd]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - a day of a calendar, in no time zone
_LATEST_DAY = 2_958_465
"""Number of the last day of the year 9999."""


def read(data: bytes) -> ReadDocument:
    """Read a workbook, sheet by sheet. InputError: it cannot be read."""
    package = DocumentPackage(data)
    relations = package.find_relations(_WORKBOOK)
    strings = _read_strings(package)
    date_styles = _find_date_styles(package)
    blocks: list[TextBlock] = []
    size = 0
    for sheet in iter_named(package.parse(_WORKBOOK), "sheet"):
        name = relations.get(attribute(sheet, "id"), "")
        if name not in package.names:
            continue
        rows = _read_rows(package.parse(name), strings, date_styles)
        for text in describe_table(rows):
            size += len(text)
            check_length(size)
            blocks.append(TextBlock(text, sheet=attribute(sheet, "name")))
    return ReadDocument(blocks, read_title(package))


def _read_strings(package: DocumentPackage) -> list[str]:
    if _STRINGS not in package.names:
        return []
    return [
        "".join(text.text or "" for text in iter_named(item, "t"))
        for item in iter_named(package.parse(_STRINGS), "si")
    ]


def _find_date_styles(package: DocumentPackage) -> frozenset[int]:
    """Find the numbers of the cell styles that show a number as a date."""
    if _STYLES not in package.names:
        return frozenset()
    root = package.parse(_STYLES)
    own_formats = {
        attribute(item, "numFmtId")
        for item in iter_named(root, "numFmt")
        if _DATE_CODE.search(_QUOTED.sub("", attribute(item, "formatCode")))
    }
    dates = own_formats | {str(number) for number in _DATE_FORMATS}
    lists = [*iter_named(root, "cellXfs")]
    styles = [*lists[0]] if lists else []
    return frozenset(
        number for number, style in enumerate(styles) if attribute(style, "numFmtId") in dates
    )


def _read_rows(
    sheet: Element, strings: Sequence[str], date_styles: frozenset[int]
) -> Iterator[list[str]]:
    for row in iter_named(sheet, "row"):
        cells: list[str] = []
        for cell in row:
            column = _find_column(attribute(cell, "r"), len(cells))
            if local_name(cell) != "c" or column >= _MOST_COLUMNS:
                continue
            cells += [""] * (column + 1 - len(cells))
            cells[column] = _read_cell(cell, strings, date_styles)
        yield cells


def _find_column(reference: str, following: int) -> int:
    """Return the index of a cell's column ("B7" is 1); without a reference the following one."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return following
    index = 0
    for letter in match[1]:
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1


def _read_cell(cell: Element, strings: Sequence[str], date_styles: frozenset[int]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return "".join(text.text or "" for text in iter_named(cell, "t"))
    value = next((item.text or "" for item in cell if local_name(item) == "v"), "").strip()
    if kind == "s":
        return strings[int(value)] if value.isdecimal() and int(value) < len(strings) else ""
    if kind == "b":
        return {"1": "yes", "0": "no"}.get(value, value)
    if kind in ("str", "e", "d"):
        return value
    style = attribute(cell, "s")
    is_date = style.isdecimal() and int(style) in date_styles
    return _tell_day(value) if is_date else _tell_number(value)


def _tell_day(value: str) -> str:
    try:
        days = float(value)
    except ValueError:
        return value
    if not 0 <= days <= _LATEST_DAY:
        return value
    moment = _FIRST_DAY + timedelta(seconds=round(days * 86_400))
    return f"{moment:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def _tell_number(value: str) -> str:
    """Return a number as a person writes it: 0.30000000000000004 is 0.3."""
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{number:.12g}" if "." in value else value
