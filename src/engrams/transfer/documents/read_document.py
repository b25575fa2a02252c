"""A document as its reader returns it: its title and its blocks of text, in order.

A reader is a function that takes the bytes of a file and returns a ``ReadDocument``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engrams.errors import InputError

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


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as its reader read it."""

    blocks: Sequence[TextBlock]
    title: str = ""
    written_at: str = ""
    """Time that the document names as its own, ISO 8601: when a mail was sent. Empty: none."""


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

    A table of one column or one row has no headers.
    """
    filled = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [row for row in filled if any(row)]
    if len(filled) < 2 or sum(map(bool, filled[0])) < 2:
        yield from (describe_row((), row) for row in filled)
        return
    headers, *body = filled
    yield from (describe_row(headers, row) for row in body)


def check_length(characters: int) -> None:
    """Check the characters read so far. InputError: they are too many."""
    if characters > MOST_CHARACTERS:
        raise InputError(
            f"Its text has more than {MOST_CHARACTERS:,} characters.",
            hint="Split the document, and add the parts that you need.",
        )
