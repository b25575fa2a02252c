"""Tables of a PDF's page: found by where its words stand, and told row by row with the names of the columns.

A PDF has no tables, only words and their places. ``PageText.take`` gets them while the page's text is
extracted; ``PageText.split`` yields the text around the tables, and their rows. A table begins with a row
of three names or more without digits, above rows that have words under them. What has no such row
stays text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engrams.transfer.documents.read_document import describe_row

_LEAST_NAMES = 3
"""Columns of a table whose names stand in its first row."""
_LEAST_ROWS = 2
"""Rows of two cells or more below the names."""
_LOOK_BACK = 4
"""Rows before, to which a cell may belong: cells of several lines are often drawn one after the other."""
_SAME_LINE = 0.3
"""Part of the letters' height by which words of one line may differ."""
_LETTER = 0.45
"""Usual width of a letter, as a part of its height."""
_GAP = 1.0
"""Least room between two cells, as a part of the letters' height."""
_NEXT_LINE = 1.45
"""Distance of the next line of the same cell, as a part of the letters' height."""
_MOST_ROWS = 500
_MOST_TRIES = 40
"""Rows of a page below which a table is looked for in vain; then the rest of it stays text."""
_FAR = 5.0
"""Distance of lines after which a table has ended."""
_LONGEST_CELL = 80
_MOSTLY = 0.8
"""Share of a column's cells that are numbers."""
_SEVERAL_NUMBERS = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:\s+[-+]?\d+(?:[.,]\d+)*)+")
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u9fff]")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Words that were drawn at once."""

    number: int
    """Place among the pieces of the page."""
    text: str
    x: float
    y: float
    height: float

    @property
    def end(self) -> float:
        return self.x + _LETTER * self.height * len(self.text)


@dataclass(frozen=True, slots=True)
class _Row:
    """Pieces on one line, and the cells that they make."""

    y: float
    numbers: frozenset[int]
    cells: Sequence[_Piece]


@dataclass(frozen=True, slots=True)
class PagePart:
    """Lines of text that follow each other, or the rows of a table as sentences."""

    lines: Sequence[str]
    is_table: bool = False


class PageText:
    """Words of a page, in the order in which they were extracted."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._pieces: list[_Piece] = []

    def take(
        self,
        text: str,
        page_matrix: Sequence[float],
        text_matrix: Sequence[float],
        _font: object,
        size: float | None,
    ) -> None:
        """Take words with their place, as pypdf tells them."""
        self._texts.append(text)
        words = " ".join(text.split())
        if not words:
            return
        a, b, c, d, e, f = page_matrix
        x, y = text_matrix[4], text_matrix[5]
        height = abs((size or 1.0) * text_matrix[3] * d)
        if height and not (text_matrix[1] or b or c):  # no text that is turned
            self._pieces.append(_Piece(len(self._texts) - 1, words, x * a + e, y * d + f, height))

    def split(self) -> Iterator[PagePart]:
        """Yield the lines of the page, and its tables where they stand."""
        start = 0
        table_numbers: set[int] = set()
        tables = {table[0]: table for table in self._find_tables()}
        for number in range(len(self._texts)):
            if number in tables:
                _, numbers, rows = tables[number]
                yield self._list_lines(start, number, table_numbers)
                yield PagePart(rows, is_table=True)
                table_numbers |= numbers
                start = number
        yield self._list_lines(start, len(self._texts), table_numbers)

    def _list_lines(self, start: int, end: int, left_out: set[int]) -> PagePart:
        texts = enumerate(self._texts[start:end], start)
        text = "".join(text for number, text in texts if number not in left_out)
        return PagePart([line.strip() for line in text.split("\n") if line.strip()])

    def _find_tables(self) -> Iterator[tuple[int, set[int], list[str]]]:
        """Yield the first piece of each table, the numbers of all, and its rows as sentences."""
        rows = self._list_rows()
        position = 0
        tries_left = _MOST_TRIES
        while position < len(rows) and tries_left:
            names = rows[position].cells
            body: list[_Row] = []
            if _names_columns(names):
                body = _find_body(names, rows, position + 1)
                tries_left -= not body
            if body:
                numbers = set().union(rows[position].numbers, *(row.numbers for row in body))
                yield min(numbers), numbers, _describe(names, body)
            position += 1 + len(body)

    def _list_rows(self) -> list[_Row]:
        lines: list[list[_Piece]] = []
        for piece in self._pieces:
            tolerance = _SAME_LINE * piece.height
            line = next(
                (
                    line
                    for line in lines[: -_LOOK_BACK - 1 : -1]
                    if abs(line[0].y - piece.y) <= tolerance
                ),
                None,
            )
            if line is None:
                lines.append([piece])
            else:
                line.append(piece)
        return [
            _Row(line[0].y, frozenset(piece.number for piece in line), _join_cells(line))
            for line in lines
        ]


def _join_cells(line: Sequence[_Piece]) -> list[_Piece]:
    """Join the pieces that stand close to each other, such as a word in bold and the next one."""
    cells: list[_Piece] = []
    for piece in sorted(line, key=lambda piece: piece.x):
        if cells and piece.x - cells[-1].end < _GAP * piece.height:
            last = cells[-1]
            cells[-1] = replace(last, text=f"{last.text} {piece.text}")
        else:
            cells.append(piece)
    return cells


def _names_columns(cells: Sequence[_Piece]) -> bool:
    return (
        len(cells) >= _LEAST_NAMES
        and not any(char.isdigit() for cell in cells for char in cell.text)
        and all(
            len(cell.text) <= _LONGEST_CELL
            and cell.text[-1] != ":"
            and _WORD.search(cell.text) is not None
            for cell in cells
        )
    )


def _find_body(names: Sequence[_Piece], rows: Sequence[_Row], start: int) -> list[_Row]:
    """Find the rows of a table below its names; none: it is no table."""
    body: list[_Row] = []
    last_y = names[0].y
    for position in range(start, min(start + _MOST_ROWS, len(rows))):
        row = rows[position]
        next_cells = rows[position + 1].cells if position + 1 < len(rows) else ()
        is_text = len(row.cells) < 2 and len(next_cells) < 2
        is_long = any(len(cell.text) > _LONGEST_CELL for cell in row.cells)
        if not 0 < last_y - row.y < _FAR * names[0].height or is_text or is_long:
            break
        body.append(row)
        last_y = row.y
    full_rows = [row for row in body if len(row.cells) >= 2]
    return body if len(full_rows) >= _LEAST_ROWS and _has_numbers(names, full_rows) else []


def _has_numbers(names: Sequence[_Piece], rows: Sequence[_Row]) -> bool:
    """True if one column at least has numbers from top to bottom, and no cell has those of several."""
    columns: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        for cell in row.cells:
            columns[_find_column(names, cell)].append(cell.text)
    if any(_SEVERAL_NUMBERS.fullmatch(text) for texts in columns.values() for text in texts):
        return False
    return any(
        len(texts) >= _LEAST_ROWS and sum(map(_is_number, texts)) >= _MOSTLY * len(texts)
        for texts in columns.values()
    )


def _is_number(text: str) -> bool:
    return any(map(str.isdigit, text)) or not any(map(str.isalpha, text))


def _describe(names: Sequence[_Piece], body: Sequence[_Row]) -> list[str]:
    """Make a sentence of each row; the lines of a cell that has several are joined."""
    headers = ["", *(name.text for name in names)]
    rows: list[list[str]] = []
    last_y = 0.0
    for row in body:
        cells = [""] * len(headers)
        for cell in row.cells:
            column = _find_column(names, cell)
            cells[column] = f"{cells[column]} {cell.text}".strip()
        is_next_line = bool(rows) and last_y - row.y < _NEXT_LINE * row.cells[0].height
        first_column = (
            next((column for column, text in enumerate(rows[-1]) if text), 0) if rows else 0
        )
        if is_next_line and not cells[first_column]:
            rows[-1] = [
                f"{before} {text}".strip() for before, text in zip(rows[-1], cells, strict=True)
            ]
        else:
            rows.append(cells)
        last_y = row.y
    return [describe_row(headers, cells) for cells in rows]


def _find_column(names: Sequence[_Piece], cell: _Piece) -> int:
    """Find the column of a cell, from 1: its beginning, middle or end is nearest to that of the name.

    0: it stands left of all names, where a column often has none.
    """
    if cell.end < names[0].x:
        return 0
    distances = [
        min(
            abs(name.x - cell.x),
            abs(name.end - cell.end),
            abs(name.x + name.end - cell.x - cell.end) / 2,
        )
        for name in names
    ]
    return distances.index(min(distances)) + 1
