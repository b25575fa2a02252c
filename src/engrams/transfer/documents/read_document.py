"""A document as its reader returns it: its title and its blocks of text, in order.

A reader is a function that takes the bytes of a file and returns a ``ReadDocument``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from engrams.errors import InputError

_LEAST_NAMED_COLUMNS = 3
"""Cells of a row under a title that names the columns."""
MOST_CHARACTERS = 20_000_000
"""Characters of the longest document: about 8,000 pages."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, a heading, an item of a list or a row of a table."""

    text: str
    level: int = 0
    """Level of a heading, from 1. 0: it is no heading."""
    page: int = 0
    slide: int = 0
    sheet: str = ""
    by: str = ""
    """Name of the model whose words these are, or ``OCR``. Empty: the document's."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as its reader read it."""

    blocks: Sequence[TextBlock]
    title: str = ""
    written_at: str = ""
    """Time that the document names as its own, ISO 8601: when a mail was sent. Empty: none."""
    media: str = ""
    """Media type of a picture or sound. Empty: it is a document of text."""
    preview: str = ""
    """Base64 of a small JPEG of a picture, without its metadata. Empty: there is none."""
    place: str = ""
    """Place at which a picture says that it was taken: "59.9139, 10.7522". Empty: it tells none."""
    scanned_pages: Sequence[int] = ()
    """Pages of a PDF that are pictures without text, from 1."""

    @property
    def has_text(self) -> bool:
        return any(block.text for block in self.blocks)


DocumentReader: TypeAlias = Callable[[bytes], ReadDocument]
"""Reads the bytes of a file. InputError: why it cannot be read, and what to do."""


def describe_row(headers: Sequence[str], cells: Sequence[str]) -> str:
    """Make a sentence of a row of a table: "Item: Rent; Amount: 900".

    A cell without a header stands alone; empty cells are left out.
    """
    texts = []
    for position, cell in enumerate(cells):
        text = " ".join(cell.split())
        header = headers[position] if position < len(headers) else ""
        if text:
            texts.append(f"{header}: {text}" if header else text)
    return "; ".join(texts)


def describe_table(rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Make a sentence of each row of a table; its first row names the columns.

    A table of one column or one row has no headers. Under a title, which stands in one cell, a row
    of three or more words above numbers names the columns.
    """
    filled = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [row for row in filled if any(row)]
    headers: Sequence[str] = ()
    if len(filled) > 1 and sum(map(bool, filled[0])) > 1:
        headers, *filled = filled
    for row, next_row in pairwise([*filled, []]):
        if not headers and _names_columns(row) and _has_digit(next_row):
            headers = row
        else:
            yield describe_row(headers, row)


def _names_columns(row: Sequence[str]) -> bool:
    return sum(map(bool, row)) >= _LEAST_NAMED_COLUMNS and not _has_digit(row)


def _has_digit(row: Sequence[str]) -> bool:
    return any(char.isdigit() for cell in row for char in cell)


def check_length(characters: int) -> None:
    """Check the characters read so far. InputError: they are too many."""
    if characters > MOST_CHARACTERS:
        raise InputError(
            f"Its text has more than {MOST_CHARACTERS:,} characters.",
            hint="Split the document, and add the parts that you need.",
        )
