"""CSV and TSV: a memory or message each row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from engrams.core import Kind, Record
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.json_messages import TEXT_FIELDS, read_value
from engrams.transfer.formats.pieces import ExportLine, ForeignPiece, TextLine, UnreadablePiece

_SEPARATORS = ",;\t|"
_COLUMNS = (
    "id", "at", "kind", "status", "text", "role", "speaker", "session", "subject", "predicate", "object", "category", "tags", "valid_from",
    "valid_to", "importance", "confidence", "scope",
)  # fmt: skip
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of a cell that a spreadsheet would carry out."""


def recognises(head: FileHead) -> bool:
    """Recognise a table by the name of its file alone."""
    return head.has_suffix(".csv", ".tsv")


def read(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Yield the rows of a table; its first line names the columns."""
    texts = (line[1] + "\n" for line in lines if not isinstance(line, UnreadablePiece))
    header = next(texts, "")
    separator = max(_SEPARATORS, key=header.count)
    rows = csv.reader(texts, delimiter=separator, strict=True)
    try:
        cells = next(csv.reader([header], delimiter=separator), [])
        columns = [cell.strip().casefold() for cell in cells]
        if header.strip() and not set(columns) & set(TEXT_FIELDS):
            shown = ", ".join(column for column in columns if column)[:200]
            yield UnreadablePiece(
                1,
                f"No column is named {' or '.join(TEXT_FIELDS)}; the columns are {shown}.",
                broken=True,
            )
            return
        for position, row in enumerate(rows, 1):
            line_number = rows.line_num + 1
            if len(row) > len(columns):
                yield UnreadablePiece(
                    line_number,
                    f"This row has {len(row)} columns; the first line names {len(columns)}.",
                    broken=True,
                )
            elif any(cell.strip() for cell in row):
                values = dict(zip(columns, map(_strip_guard, row), strict=False))
                yield from read_value(values, position, line=line_number, kind=Kind.NOTE)
    except csv.Error as problem:
        message = f"This row is not CSV: {problem}."
        if "limit" in str(problem):
            message = f"A cell of this row has more than {csv.field_size_limit():,} characters."
        yield UnreadablePiece(rows.line_num + 1, message, broken=True)


def to_lines(records: Iterable[Record]) -> Iterator[ExportLine]:
    """Yield the lines of a table.

    A cell that a spreadsheet would take for a formula begins with an apostrophe, which the import
    takes off.
    """
    yield _format_row(_COLUMNS), 0
    for record in records:
        values = {column: getattr(record, column, "") for column in _COLUMNS} | {
            "at": record.recorded_at,
            "scope": record.scope.key,
            "tags": "; ".join(record.tags),
        }
        yield _format_row([_format_cell(values[column]) for column in _COLUMNS]), 1


def _format_row(cells: Iterable[str]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow(cells)
    return row.getvalue()


def _format_cell(value: Any) -> str:
    if isinstance(value, datetime):
        text = value.isoformat()
    elif value is None:
        text = ""
    else:
        text = str(value)
    # Apostrophes before a formula get one more, so that the import gives back the same text.
    return f"'{text}" if _is_guarded(f"'{text}") else text


def _strip_guard(cell: str) -> str:
    return cell[1:] if _is_guarded(cell) else cell


def _is_guarded(cell: str) -> bool:
    """Check for a cell that begins with an apostrophe put before a formula."""
    return cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS)
